//! Timestamps: RFC 3339 in, exactly `YYYY-MM-DDTHH:MM:SS.mmmZ` out. The `time` crate reads the calendar; the
//! stricter profile (upper case, no leap second, 0 to 9 fraction digits, years 0001 to 9999) is checked here.
//! Giving one out is on the hottest paths, so that the arithmetic for it is written out.

#![forbid(unsafe_code)]

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::error::{Error, Reason, Result};

/// Length of a timestamp that is given out.
pub(crate) const TIMESTAMP_LENGTH: usize = 24;

/// `0001-01-01T00:00:00.000Z`
const EARLIEST_MS: i64 = -62_135_596_800_000;

/// `9999-12-31T23:59:59.999Z`
const LATEST_MS: i64 = 253_402_300_799_999;

const MS_PER_DAY: i64 = 86_400_000;

/// `wall_ms` (milliseconds since 1970, clamped to the years 0001 to 9999) as `YYYY-MM-DDTHH:MM:SS.mmmZ`.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // both parts are clamped to be small and positive
pub fn format_timestamp(wall_ms: i64) -> [u8; TIMESTAMP_LENGTH] {
    let since_year_one = (wall_ms.clamp(EARLIEST_MS, LATEST_MS) - EARLIEST_MS) as u64;
    let days = (since_year_one / MS_PER_DAY as u64) as u32;
    let ms_of_day = (since_year_one % MS_PER_DAY as u64) as u32;
    let (year, month, day) = civil_date(days);
    let seconds = ms_of_day / 1000;

    let mut text = *b"0000-00-00T00:00:00.000Z";
    two_digits(&mut text, 0, year / 100);
    two_digits(&mut text, 2, year % 100);
    two_digits(&mut text, 5, month);
    two_digits(&mut text, 8, day);
    two_digits(&mut text, 11, seconds / 3600);
    two_digits(&mut text, 14, seconds / 60 % 60);
    two_digits(&mut text, 17, seconds % 60);
    text[20] = b'0' + (ms_of_day % 1000 / 100) as u8;
    two_digits(&mut text, 21, ms_of_day % 100);
    text
}

/// Year, month and day of the Gregorian calendar, `days` after 0001-01-01. Years are counted from March here,
/// so that a leap day is the last of its year and the months before it have a regular pattern.
fn civil_date(days: u32) -> (u32, u32, u32) {
    const DAYS_PER_400_YEARS: u32 = 146_097;
    // 0000-03-01 is 306 days before 0001-01-01.
    let days = days + 306;
    let (cycle, day_of_cycle) = (days / DAYS_PER_400_YEARS, days % DAYS_PER_400_YEARS);
    let year_of_cycle =
        (day_of_cycle - day_of_cycle / 1_460 + day_of_cycle / 36_524 - day_of_cycle / 146_096) / 365;
    let day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    // Five months from March or August on have 153 days.
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let after_new_year = month_from_march >= 10;
    let month = if after_new_year { month_from_march - 9 } else { month_from_march + 3 };
    (400 * cycle + year_of_cycle + u32::from(after_new_year), month, day)
}

#[allow(clippy::cast_possible_truncation)] // value < 100
fn two_digits(text: &mut [u8; TIMESTAMP_LENGTH], at: usize, value: u32) {
    text[at] = b'0' + (value / 10) as u8;
    text[at + 1] = b'0' + (value % 10) as u8;
}

/// Milliseconds since 1970 of an RFC 3339 timestamp with any offset and 0 to 9 fraction digits, years 0001 to
/// 9999; anything else is `INVALID_ARGUMENT` (`invalid_timestamp`). Digits beyond milliseconds are cut toward
/// the past.
pub fn parse_timestamp(text: &str) -> Result<i64> {
    parse(text)
        .ok_or_else(|| Error::new(Reason::InvalidTimestamp, "the timestamp is not in the accepted form"))
}

/// Whether `text` is a timestamp exactly as it is given out.
pub fn is_canonical_timestamp(text: &str) -> bool {
    text.len() == TIMESTAMP_LENGTH && text.ends_with('Z') && parse(text).is_some()
}

fn parse(text: &str) -> Option<i64> {
    if !has_strict_form(text.as_bytes()) {
        return None;
    }
    let nanoseconds = OffsetDateTime::parse(text, &Rfc3339).ok()?.unix_timestamp_nanos();
    let ms = i64::try_from(nanoseconds.div_euclid(1_000_000)).ok()?;
    (EARLIEST_MS..=LATEST_MS).contains(&ms).then_some(ms)
}

/// What the parser takes more loosely than this library: year 0000, the letters, the second 60, how many
/// digits a fraction has, and the range of the offset.
fn has_strict_form(text: &[u8]) -> bool {
    let Some((date_time, rest)) = text.split_at_checked("YYYY-MM-DDTHH:MM:SS".len()) else { return false };
    let offset = match rest.strip_prefix(b".") {
        None => rest,
        Some(fraction) => {
            let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if !(1..=9).contains(&digits) {
                return false;
            }
            &fraction[digits..]
        }
    };
    let offset_fits = match offset {
        b"Z" => true,
        [b'+' | b'-', hours @ .., b':', minutes_tens, _] => {
            hours.len() == 2 && hours <= b"23" && *minutes_tens <= b'5'
        }
        _ => false,
    };
    offset_fits && !date_time.starts_with(b"0000") && date_time[10] == b'T' && date_time[17] <= b'5'
}
