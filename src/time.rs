//! Timestamps: RFC 3339 in, exactly `YYYY-MM-DDTHH:MM:SS.mmmZ` out. The `time` crate reads the calendar; the
//! stricter profile (upper case, no leap second, 0 to 9 fraction digits, years 0001 to 9999) is checked here.
//! Giving one out is on the hottest paths, so that the arithmetic for it is written out.

#![forbid(unsafe_code)]

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::error::{Error, Reason, Result};

/// Length of a timestamp that is given out.
pub(crate) const TIMESTAMP_LENGTH: usize = 24;

/// The instants that have a four-digit year: 0001-01-01T00:00:00.000Z to 9999-12-31T23:59:59.999Z.
pub(crate) const WALL_RANGE_MS: std::ops::RangeInclusive<i64> = EARLIEST_MS..=LATEST_MS;

const EARLIEST_MS: i64 = -62_135_596_800_000;
const LATEST_MS: i64 = 253_402_300_799_999;
const MS_PER_DAY: i64 = 86_400_000;

/// `wall_ms` (milliseconds since 1970, clamped to the years 0001 to 9999) as `YYYY-MM-DDTHH:MM:SS.mmmZ`.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // both parts are clamped to be small and positive
pub fn format_timestamp(wall_ms: i64) -> [u8; TIMESTAMP_LENGTH] {
    let since_year_one = (wall_ms.clamp(EARLIEST_MS, LATEST_MS) - EARLIEST_MS) as u64;
    let days = (since_year_one / MS_PER_DAY as u64) as u32;
    let ms_of_day = (since_year_one % MS_PER_DAY as u64) as u32;
    let (year, month, day) = civil_date(days);
    let (minutes, ms_of_minute) = (ms_of_day / 60_000, ms_of_day % 60_000);
    let (second, ms) = (ms_of_minute / 1000, ms_of_minute % 1000);

    let [y1, y2, y3, y4, m1, m2, d1, d2] = eight_digits([year / 100, year % 100, month, day]);
    let [h1, h2, n1, n2, s1, s2, f1, f2] = eight_digits([minutes / 60, minutes % 60, second, ms / 10]);
    let f3 = b'0' + (ms % 10) as u8;
    [
        y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T', h1, h2, b':', n1, n2, b':', s1, s2, b'.', f1, f2,
        f3, b'Z',
    ]
}

/// Four numbers below 100, two decimal digits each. The numbers are computed with side by side in one word, 16 bits
/// each; a product with 103, shifted by 10, is a tenth.
fn eight_digits(numbers: [u32; 4]) -> [u8; 8] {
    let word = numbers.iter().rev().fold(0, |word, number| (word << 16) | u64::from(*number));
    let tens = ((word * 103) >> 10) & 0x000F_000F_000F_000F;
    let ones = word - tens * 10;
    (((ones << 8) | tens) + 0x3030_3030_3030_3030).to_le_bytes()
}

/// Year, month and day of the Gregorian calendar, `days` after 0001-01-01. Years are counted from March here,
/// so that a leap day is the last of its year and the months before it have a regular pattern. Multiplications
/// stand for the divisions (Neri and Schneider, "Euclidean affine functions and their application to calendar
/// algorithms", 2022); a test goes through every day.
#[allow(clippy::cast_possible_truncation)] // the lower half of a product is meant
fn civil_date(days: u32) -> (u32, u32, u32) {
    // 0000-03-01 is 306 days before 0001-01-01.
    let quarter_days = 4 * (days + 306) + 3;
    let (century, rest) = (quarter_days / 146_097, quarter_days % 146_097 / 4);
    let product = 2_939_745 * u64::from(4 * rest + 3);
    let year = 100 * century + (product >> 32) as u32;
    let day_of_year = product as u32 / 2_939_745 / 4;
    let months = 2_141 * day_of_year + 197_913;
    let (month, day) = (months >> 16, (months & 0xFFFF) / 2_141 + 1);
    if day_of_year >= 306 { (year + 1, month - 12, day) } else { (year, month, day) }
}

/// Milliseconds since 1970 of an RFC 3339 timestamp with any offset and 0 to 9 fraction digits, years 0001 to
/// 9999; anything else is `INVALID_ARGUMENT` (`invalid_timestamp`). Digits beyond milliseconds are cut toward
/// the past.
pub fn parse_timestamp(text: &str) -> Result<i64> {
    parse(text)
        .ok_or_else(|| Error::new(Reason::InvalidTimestamp, "the timestamp is not in the accepted form"))
}

fn parse(text: &str) -> Option<i64> {
    if !has_strict_form(text.as_bytes()) {
        return None;
    }
    let nanoseconds = OffsetDateTime::parse(text, &Rfc3339).ok()?.unix_timestamp_nanos();
    let ms = i64::try_from(nanoseconds.div_euclid(1_000_000)).ok()?;
    WALL_RANGE_MS.contains(&ms).then_some(ms)
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
            hours.len() == 2 && hours <= b"23".as_slice() && *minutes_tens <= b'5'
        }
        _ => false,
    };
    offset_fits && !date_time.starts_with(b"0000") && date_time[10] == b'T' && date_time[17] <= b'5'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn formatted(ms: i64) -> String {
        String::from_utf8(format_timestamp(ms).to_vec()).unwrap()
    }

    #[test]
    fn timestamps_are_given_out_in_one_form() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (1_764_066_600_007, "2025-11-25T10:30:00.007Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_799_999, "2000-02-29T23:59:59.999Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (1_735_689_599_999, "2024-12-31T23:59:59.999Z"),
            (EARLIEST_MS, "0001-01-01T00:00:00.000Z"),
            (EARLIEST_MS - 1, "0001-01-01T00:00:00.000Z"),
            (i64::MIN, "0001-01-01T00:00:00.000Z"),
            (LATEST_MS, "9999-12-31T23:59:59.999Z"),
            (LATEST_MS + 1, "9999-12-31T23:59:59.999Z"),
            (i64::MAX, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(formatted(ms), text);
        }
    }

    #[test]
    fn every_day_agrees_with_the_calendar() {
        let mut date = time::Date::from_calendar_date(1, time::Month::January, 1).unwrap();
        for days in 0.. {
            let (year, month, day) = civil_date(days);
            let expected =
                (date.year().cast_unsigned(), u32::from(u8::from(date.month())), u32::from(date.day()));
            assert_eq!((year, month, day), expected);
            let Some(next) = date.next_day() else { break };
            date = next;
        }
        assert_eq!(date.year(), 9999);
    }

    #[test]
    fn accepted_forms() {
        const HALF_PAST: i64 = 1_764_066_600_000;
        for (text, ms) in [
            ("2025-11-25T10:30:00Z", HALF_PAST),
            ("2025-11-25T10:30:00.1+05:30", HALF_PAST + 100 - 19_800_000),
            ("2025-11-25T10:30:00.123456789Z", HALF_PAST + 123),
            ("2025-11-25T10:30:00.999999999Z", HALF_PAST + 999),
            ("2025-11-25T10:30:00.000999Z", HALF_PAST),
            ("2025-11-25T10:30:00.12-23:59", HALF_PAST + 120 + 86_340_000),
            ("2025-11-25T10:30:00+23:59", HALF_PAST - 86_340_000),
            ("2025-11-25T10:30:00-00:00", HALF_PAST),
            ("1969-12-31T23:59:59.9999Z", -1),
            ("1969-12-31T23:59:59.0001Z", -1000),
            ("2024-02-29T00:00:00Z", 1_709_164_800_000),
            ("0001-01-01T00:00:00Z", EARLIEST_MS),
            ("0001-01-01T00:00:00-01:00", EARLIEST_MS + 3_600_000),
            ("9999-12-31T23:59:59.999999999Z", LATEST_MS),
            ("9999-12-31T23:59:59.999+00:01", LATEST_MS - 60_000),
        ] {
            assert_eq!(parse_timestamp(text).ok(), Some(ms), "{text}");
        }
    }

    #[test]
    fn refused_forms() {
        for text in [
            "",
            "2025-11-25",
            "1732530600",
            "25:00",
            "2025-11-25T25:00:00Z",
            "2025-11-25T24:00:00Z",
            "2025-11-25T10:60:00Z",
            "2025-11-25T10:30:60Z",
            "2016-12-31T23:59:60Z",
            "2025-11-25T10:30:61Z",
            "2025-11-25T10:30Z",
            "2025-11-25T25:00Z",
            "2025-11-25T10:30:00",
            "2025-11-25T10:30:00.Z",
            "2025-11-25T10:30:00.+00:00",
            "2025-11-25T10:30:00.1234567890Z",
            "2025-11-25T10:30:00.12.3Z",
            "2025-11-25T10:30:00,123Z",
            "2025-11-25T10:30:00z",
            "2025-11-25t10:30:00Z",
            "2025-11-25 10:30:00Z",
            "2025-11-25_10:30:00Z",
            "2025-11-25\u{e9}10:30:00Z",
            "2025-11-25T10:30:00 Z",
            "2025-11-25T10:30:00ZZ",
            "2025-11-25T10:30:00Z+00:00",
            " 2025-11-25T10:30:00Z",
            "2025-11-25T10:30:00Z\n",
            "2025-11-25T10:30:00+0530",
            "2025-11-25T10:30:00+05",
            "2025-11-25T10:30:00+5:30",
            "2025-11-25T10:30:00+24:00",
            "2025-11-25T10:30:00+05:60",
            "2025-11-25T10:30:00+05:3x",
            "2025-11-25T10:30:00+05:30:00",
            "2025-11-25T10:30:00\u{2212}05:30",
            "2025-13-01T00:00:00Z",
            "2025-00-01T00:00:00Z",
            "2025-02-29T00:00:00Z",
            "2100-02-29T00:00:00Z",
            "2025-04-31T00:00:00Z",
            "2025-04-00T00:00:00Z",
            "0000-12-31T23:59:59Z",
            "0000-12-31T23:59:59-12:00",
            "0001-01-01T00:00:00+00:01",
            "9999-12-31T23:59:59-00:01",
            "10000-01-01T00:00:00Z",
            "-2025-11-25T10:30:00Z",
            "+2025-11-25T10:30:00Z",
            "25-11-25T10:30:00Z",
            "2025-11-25T10:30:00.\u{661}Z",
        ] {
            let error = parse_timestamp(text).unwrap_err();
            assert_eq!(error.reason(), Reason::InvalidTimestamp, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_given_out_is_read_back(ms in WALL_RANGE_MS) {
            let text = formatted(ms);
            prop_assert_eq!(parse_timestamp(&text).ok(), Some(ms));
        }

        #[test]
        fn offsets_are_taken_off(
            ms in EARLIEST_MS + MS_PER_DAY..=LATEST_MS - MS_PER_DAY,
            hours in 0..24_i64,
            minutes in 0..60_i64,
            digits in "[0-9]{0,6}",
        ) {
            let local = formatted(ms);
            let text = format!("{}{digits}+{hours:02}:{minutes:02}", &local[..23]);
            prop_assert_eq!(parse_timestamp(&text).ok(), Some(ms - (hours * 60 + minutes) * 60_000));
        }

        #[test]
        fn damaged_timestamps_do_no_harm(text in "[0-9TZ:.+ -]{0,40}|\\PC{0,30}") {
            if let Ok(ms) = parse_timestamp(&text) {
                prop_assert!(WALL_RANGE_MS.contains(&ms));
            }
        }
    }
}
