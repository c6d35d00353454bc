//! Timestamps: what is accepted is exactly the documented form, with the instant that an independent reading
//! gives; what is given out is read back as it was.

#![no_main]

use libfuzzer_sys::fuzz_target;
use taskhold::time::{format_timestamp, parse_timestamp};

const YEARS_MS: std::ops::RangeInclusive<i64> = -62_135_596_800_000..=253_402_300_799_999;

/// A number of exactly `digits` digits at the start of `text`, and what follows.
fn number(text: &[u8], digits: usize) -> Option<(i64, &[u8])> {
    let (head, rest) = text.split_at_checked(digits)?;
    let is_number = head.iter().all(u8::is_ascii_digit);
    is_number.then(|| (head.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0')), rest))
}

fn literal(text: &[u8], byte: u8) -> Option<&[u8]> {
    text.split_first().filter(|(first, _)| **first == byte).map(|(_, rest)| rest)
}

/// Days from 1970-01-01, by counting years.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [31, if is_leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = lengths.get(usize::try_from(month - 1).ok()?)?;
    if !(1..=*length).contains(&day) {
        return None;
    }
    let before = year - 1;
    let years = before * 365 + before / 4 - before / 100 + before / 400 - 719_162;
    Some(years + lengths.iter().take(usize::try_from(month - 1).ok()?).sum::<i64>() + day - 1)
}

/// The instant in milliseconds, read by the letter of RFC 3339 and this library's limits.
fn instant(text: &[u8]) -> Option<i64> {
    let (year, rest) = number(text, 4)?;
    let (month, rest) = number(literal(rest, b'-')?, 2)?;
    let (day, rest) = number(literal(rest, b'-')?, 2)?;
    let (hour, rest) = number(literal(rest, b'T')?, 2)?;
    let (minute, rest) = number(literal(rest, b':')?, 2)?;
    let (second, mut rest) = number(literal(rest, b':')?, 2)?;
    let mut ms = 0;
    if let Some(fraction) = literal(rest, b'.') {
        let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=9).contains(&digits) {
            return None;
        }
        for at in 0..3 {
            ms = ms * 10 + if at < digits { i64::from(fraction[at] - b'0') } else { 0 };
        }
        rest = &fraction[digits..];
    }
    let offset = if rest == b"Z" {
        0
    } else {
        let (sign, offset) = rest.split_first()?;
        let (hours, minutes) = number(offset, 2)?;
        let (minutes, end) = number(literal(minutes, b':')?, 2)?;
        if !end.is_empty() || hours > 23 || minutes > 59 {
            return None;
        }
        match sign {
            b'+' => hours * 60 + minutes,
            b'-' => -(hours * 60 + minutes),
            _ => return None,
        }
    };
    if year < 1 || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let minutes = days(year, month, day)? * 1440 + hour * 60 + minute - offset;
    Some((minutes * 60 + second) * 1000 + ms).filter(|ms| YEARS_MS.contains(ms))
}

fuzz_target!(|data: &[u8]| {
    if let Some(bytes) = data.first_chunk::<8>() {
        let ms = i64::from_le_bytes(*bytes);
        // Any number, and one that is within range.
        for ms in [ms, ms.rem_euclid(YEARS_MS.end() - YEARS_MS.start() + 1) + YEARS_MS.start()] {
            let text = format_timestamp(ms);
            let clamped = ms.clamp(*YEARS_MS.start(), *YEARS_MS.end());
            assert_eq!(instant(&text), Some(clamped));
            let text = std::str::from_utf8(&text).expect("ASCII");
            assert_eq!(parse_timestamp(text).ok(), Some(clamped));
        }
    }
    let Ok(text) = std::str::from_utf8(data) else { return };
    assert_eq!(parse_timestamp(text).ok(), instant(data));
});
