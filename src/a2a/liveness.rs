//! Where a task stands in its life, from the columns of one row and one reading of the clock, so that the
//! answers never contradict each other: a task that is there is active, or final, or, within the grace period,
//! both.

#![forbid(unsafe_code)]

use crate::clock::NANOS_PER_MILLI;
use crate::store::A2aRow;

/// Where a task stands in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// Unknown, deleted or no longer retained.
    Absent = 0,
    /// Not final.
    Active = 1,
    /// Final, within the grace period.
    Grace = 2,
    /// Final, the grace period is over.
    Finalized = 3,
}

impl Liveness {
    /// Whether the task may still have events to deliver: not final, or final within the grace period.
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Active | Self::Grace)
    }

    /// Whether the task is final, the grace period aside.
    pub const fn is_finalized(self) -> bool {
        matches!(self, Self::Grace | Self::Finalized)
    }
}

/// The liveness of a task that is there.
pub(crate) fn liveness(row: &A2aRow, grace_period_ms: i64, tick_ns: i64) -> Liveness {
    if !row.is_final {
        return Liveness::Active;
    }
    let grace_ends = row
        .finalized_tick_ns
        .map(|finalized| finalized.saturating_add(grace_period_ms.saturating_mul(NANOS_PER_MILLI)));
    match grace_ends {
        Some(end) if tick_ns < end => Liveness::Grace,
        _ => Liveness::Finalized,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::a2a::transitions::tests::row;

    #[test]
    fn the_grace_period_ends_exactly_when_it_is_over() {
        let ms = NANOS_PER_MILLI;
        // Finalized at, grace period in ms, now, answer.
        let table = [
            (0, 15_000, 0, Liveness::Grace),
            (0, 15_000, 15_000 * ms - 1, Liveness::Grace),
            (0, 15_000, 15_000 * ms, Liveness::Finalized),
            (7, 15_000, 15_000 * ms, Liveness::Grace),
            (7, 15_000, 15_000 * ms + 7, Liveness::Finalized),
            (500, 0, 500, Liveness::Finalized),
            (500, 1, 500, Liveness::Grace),
            (500, 1, 500 + ms, Liveness::Finalized),
            (-5 * ms, 5, -1, Liveness::Grace),
            (-5 * ms, 5, 0, Liveness::Finalized),
            (i64::MAX - 1, i64::MAX / ms, i64::MAX - 1, Liveness::Grace),
            (i64::MAX, i64::MAX / ms, i64::MAX, Liveness::Finalized),
            (0, i64::MAX / ms, i64::MAX / 2, Liveness::Grace),
        ];
        for (finalized, grace, now, expected) in table {
            let mut row = row("completed");
            row.finalized_tick_ns = Some(finalized);
            assert_eq!(liveness(&row, grace, now), expected, "{finalized} {grace} {now}");
        }
    }

    #[test]
    fn a_task_that_is_not_final_is_active_at_any_time() {
        let row = row("input-required");
        for now in [i64::MIN, 0, i64::MAX] {
            assert_eq!(liveness(&row, 0, now), Liveness::Active);
        }
    }

    #[test]
    fn the_two_questions_agree_with_the_answer() {
        let table = [
            (Liveness::Absent, 0, false, false),
            (Liveness::Active, 1, true, false),
            (Liveness::Grace, 2, true, true),
            (Liveness::Finalized, 3, false, true),
        ];
        for (answer, code, active, finalized) in table {
            assert_eq!(answer as i32, code);
            assert_eq!((answer.is_active(), answer.is_finalized()), (active, finalized));
        }
    }
}
