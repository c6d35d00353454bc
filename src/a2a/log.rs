//! Reading a task's log of events: the parameters, and one page of it.

#![forbid(unsafe_code)]

use crate::error::Result;
use crate::json::{DEFAULT_MAXIMUM_PAYLOAD_BYTES, ObjectWriter};
use crate::options::Object;
use crate::store::{A2aTable, LogPosition, LogTotals};
use crate::text::Text;

const DEFAULT_LIMIT: u64 = 100;
pub(crate) const MAXIMUM_LIMIT: u64 = 1000;

/// Which part of a log is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadParams {
    after_revision: u64,
    limit: usize,
}

impl ReadParams {
    /// Reads the `params` of `read_events`.
    pub fn parse(text: Option<&str>) -> Result<Self> {
        let known = &["afterRevision", "limit"];
        let given = Object::parse("params", text, known, DEFAULT_MAXIMUM_PAYLOAD_BYTES)?;
        let limit = given.whole_number("limit", 1..=MAXIMUM_LIMIT)?.unwrap_or(DEFAULT_LIMIT);
        Ok(Self {
            after_revision: given.whole_number("afterRevision", 0..=u64::MAX)?.unwrap_or(0),
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
        })
    }

    /// The page of the log of `task_id`, from `table`.
    pub fn page(self, table: &dyn A2aTable, task_id: &str) -> Result<Text> {
        let mut text = Text::with_capacity(256);
        let mut page = ObjectWriter::new(&mut text);
        let mut events = page.array("events");
        let position =
            table.read_events(task_id, self.after_revision, self.limit, &mut |revision, event| {
                events.object().int("revision", revision).json("event", event);
            })?;
        drop(events);
        let position = position.unwrap_or(LogPosition { revision: 0, totals: LogTotals::default() });
        page.int("revision", position.revision).bool("missing", is_missing(position, self.after_revision));
        drop(page);
        Ok(text)
    }
}

/// Whether a reader who knows everything up to `after` cannot learn all that came since: events were dropped, or the
/// task is another one than the reader knew.
fn is_missing(position: LogPosition, after: u64) -> bool {
    position.totals.dropped_revision > after || after > position.revision
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Reason;

    #[test]
    fn params() {
        let table = [
            (None, 0, 100),
            (Some("{}"), 0, 100),
            (Some(r#"{"afterRevision":null,"limit":null}"#), 0, 100),
            (Some(r#"{"afterRevision":7,"limit":1}"#), 7, 1),
            (Some(r#"{"afterRevision":18446744073709551615,"limit":1000}"#), u64::MAX, 1000),
        ];
        for (text, after_revision, limit) in table {
            assert_eq!(ReadParams::parse(text).expect("params"), ReadParams { after_revision, limit });
        }
        for (text, reason, key) in [
            (r#"{"limit":0}"#, Reason::InvalidValue, "limit"),
            (r#"{"limit":1001}"#, Reason::InvalidValue, "limit"),
            (r#"{"afterRevision":-1}"#, Reason::InvalidValue, "afterRevision"),
            (r#"{"after":1}"#, Reason::UnknownKey, "after"),
        ] {
            let error = ReadParams::parse(Some(text)).expect_err(text);
            assert_eq!((error.reason(), error.key()), (reason, Some(key)), "{text}");
        }
    }

    #[test]
    fn what_is_missing() {
        // Revision, newest dropped, known to the reader, answer.
        let table = [
            (0, 0, 0, false),
            (0, 0, 1, true),
            (9, 0, 0, false),
            (9, 0, 9, false),
            (9, 0, 10, true),
            (9, 4, 0, true),
            (9, 4, 3, true),
            (9, 4, 4, false),
            (9, 4, 9, false),
        ];
        for (revision, dropped_revision, after, expected) in table {
            let totals = LogTotals { dropped_revision, ..LogTotals::default() };
            assert_eq!(
                is_missing(LogPosition { revision, totals }, after),
                expected,
                "{revision} {dropped_revision} {after}"
            );
        }
    }
}
