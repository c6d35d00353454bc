//! The findings of `taskhold_store_check` on a SQL database, and the report of them.

#![forbid(unsafe_code)]

use crate::json::ObjectWriter;
use crate::text::Text;

/// Most findings of each kind that are listed.
pub(in crate::store) const MOST_LISTED: usize = 100;

pub(in crate::store) struct UnreadableRecord {
    pub kind: &'static str,
    pub name: String,
    pub id: String,
}

#[derive(Default)]
pub(in crate::store) struct Findings {
    pub schema_version: i64,
    pub problems: Vec<String>,
    pub records: u64,
    pub unreadable_count: u64,
    pub unreadable: Vec<UnreadableRecord>,
}

impl Findings {
    pub fn report(&self, backend: &str, newest_schema_version: i64) -> Text {
        let mut text = Text::with_capacity(256);
        let mut report = ObjectWriter::new(&mut text);
        report
            .plain_string("backend", backend)
            .bool("ok", self.problems.is_empty() && self.unreadable_count == 0)
            .int("schemaVersion", self.schema_version)
            .int("newestSchemaVersion", newest_schema_version);
        report.array("problems").strings(&self.problems);
        report.int("records", self.records).int("unreadableCount", self.unreadable_count);
        let mut unreadable = report.array("unreadable");
        for record in &self.unreadable {
            unreadable
                .object()
                .plain_string("kind", record.kind)
                .string("name", &record.name)
                .string("id", &record.id);
        }
        drop(unreadable);
        drop(report);
        text
    }
}
