//! The model's two clocks, and timestamps in the form given out.

/// Both clocks, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Time {
    pub wall: i64,
    pub tick: i64,
}

impl Time {
    pub fn plus(self, ms: i64) -> Self {
        Self { wall: self.wall + ms, tick: self.tick + ms }
    }
}

/// `YYYY-MM-DDTHH:MM:SS.mmmZ`, counted day by day.
pub fn timestamp(ms: i64) -> String {
    let (mut days, rest) = (ms.div_euclid(86_400_000), ms.rem_euclid(86_400_000));
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let mut year = 1970;
    while days < 0 {
        year -= 1;
        days += if is_leap(year) { 366 } else { 365 };
    }
    while days >= if is_leap(year) { 366 } else { 365 } {
        days -= if is_leap(year) { 366 } else { 365 };
        year += 1;
    }
    let months = [31, if is_leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= months[month] {
        days -= months[month];
        month += 1;
    }
    let (hour, minute, second) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60);
    let (month, day, ms) = (month + 1, days + 1, rest % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}
