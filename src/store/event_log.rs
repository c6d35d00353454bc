//! The log of events that an A2A task keeps beside its text. A save appends to it in the step that stores the
//! task; the oldest events go when there are more than the limits allow, a bounded number per save. A store in
//! memory keeps the events in the row itself, one on a database in a table of their own.

#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::sync::Arc;

use crate::sync::Mutex;

/// Events that one save drops at most. A save appends one, so that a log comes back under a limit that was lowered.
pub(super) const MOST_DROPPED_PER_SAVE: usize = 64;

/// How much a log keeps; `None` is all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogLimits {
    /// Most events.
    pub events: Option<u64>,
    /// Most bytes of their texts.
    pub bytes: Option<u64>,
}

/// An event that a save appends.
#[derive(Clone, Debug)]
pub struct Appended {
    /// The event: JSON text, not larger than the limits allow by itself.
    pub text: Arc<str>,
    /// What the log keeps with it.
    pub limits: LogLimits,
}

/// What a log holds, and up to where it was cut off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogTotals {
    /// Events kept.
    pub events: u64,
    /// Bytes of their texts.
    pub bytes: u64,
    /// Revision of the newest event that was dropped; 0 when none was.
    pub dropped_revision: u64,
}

impl LogTotals {
    /// Counts an event that came.
    pub(super) fn add(&mut self, text: &str) {
        self.events = self.events.saturating_add(1);
        self.bytes = self.bytes.saturating_add(text.len() as u64);
    }

    /// Counts the oldest event out.
    pub(super) fn drop_oldest(&mut self, revision: u64, bytes: u64) {
        self.events = self.events.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
        self.dropped_revision = self.dropped_revision.max(revision);
    }

    /// Whether the oldest event has to go.
    pub(super) fn exceed(&self, limits: LogLimits) -> bool {
        limits.events.is_some_and(|most| self.events > most)
            || limits.bytes.is_some_and(|most| self.bytes > most)
    }
}

/// The events of a task in memory, shared by the rows that follow each other under its id. They are read and appended
/// to with the row locked.
#[derive(Clone, Debug, Default)]
pub struct KeptEvents(Option<Arc<Mutex<Events>>>);

/// Each with the revision of the save that brought it.
type Events = VecDeque<(u64, Arc<str>)>;

impl KeptEvents {
    /// Appends an event and drops what is too much.
    pub(super) fn append(&mut self, revision: u64, appended: Appended, totals: &mut LogTotals) {
        let mut events = self.0.get_or_insert_default().lock();
        totals.add(&appended.text);
        events.push_back((revision, appended.text));
        for _ in 0..MOST_DROPPED_PER_SAVE {
            if !totals.exceed(appended.limits) {
                break;
            }
            let Some((dropped, text)) = events.pop_front() else { break };
            totals.drop_oldest(dropped, text.len() as u64);
        }
    }

    /// The events behind `revision`, oldest first, at most `limit`.
    pub(super) fn after(&self, revision: u64, limit: usize) -> Vec<(u64, Arc<str>)> {
        let Some(events) = &self.0 else { return Vec::new() };
        let events = events.lock();
        let start = events.partition_point(|(known, _)| *known <= revision);
        events.range(start..).take(limit).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(log: &KeptEvents, after: u64) -> Vec<u64> {
        log.after(after, usize::MAX).iter().map(|(revision, _)| *revision).collect()
    }

    fn append(log: &mut KeptEvents, totals: &mut LogTotals, revision: u64, text: &str, limits: LogLimits) {
        log.append(revision, Appended { text: text.into(), limits }, totals);
    }

    #[test]
    fn the_oldest_events_go_first() {
        // Limits, what is kept after events of 3 bytes under the revisions 2, 4, 6, 8, and the totals.
        let table = [
            (LogLimits::default(), vec![2, 4, 6, 8], (4, 12, 0)),
            (LogLimits { events: Some(2), bytes: None }, vec![6, 8], (2, 6, 4)),
            (LogLimits { events: None, bytes: Some(10) }, vec![4, 6, 8], (3, 9, 2)),
            (LogLimits { events: None, bytes: Some(3) }, vec![8], (1, 3, 6)),
            (LogLimits { events: Some(3), bytes: Some(6) }, vec![6, 8], (2, 6, 4)),
        ];
        for (limits, expected, (events, bytes, dropped_revision)) in table {
            let (mut log, mut totals) = (KeptEvents::default(), LogTotals::default());
            for revision in [2, 4, 6, 8] {
                append(&mut log, &mut totals, revision, "123", limits);
            }
            assert_eq!(kept(&log, 0), expected, "{limits:?}");
            assert_eq!(totals, LogTotals { events, bytes, dropped_revision }, "{limits:?}");
        }
    }

    #[test]
    fn one_save_drops_a_bounded_number() {
        let (mut log, mut totals) = (KeptEvents::default(), LogTotals::default());
        for revision in 1..=200 {
            append(&mut log, &mut totals, revision, "1", LogLimits::default());
        }
        let one = LogLimits { events: Some(1), bytes: None };
        append(&mut log, &mut totals, 201, "1", one);
        assert_eq!(kept(&log, 0).len(), 201 - MOST_DROPPED_PER_SAVE);
        for revision in 202..=204 {
            append(&mut log, &mut totals, revision, "1", one);
        }
        assert_eq!((kept(&log, 0), totals.dropped_revision), (vec![204], 203));
    }

    #[test]
    fn reading_goes_on_behind_any_revision() {
        let (mut log, mut totals) = (KeptEvents::default(), LogTotals::default());
        assert_eq!(kept(&log, 0), Vec::<u64>::new());
        for revision in [3, 5, 9] {
            append(&mut log, &mut totals, revision, "1", LogLimits::default());
        }
        for (after, expected) in [
            (0, vec![3, 5, 9]),
            (3, vec![5, 9]),
            (4, vec![5, 9]),
            (8, vec![9]),
            (9, vec![]),
            (u64::MAX, vec![]),
        ] {
            assert_eq!(kept(&log, after), expected, "{after}");
        }
    }
}
