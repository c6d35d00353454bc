//! The findings of `taskhold_store_check`: which version the tables have, whether the counts that limits rely on are
//! right, and which records cannot be read. Whether the pages are sound is asked of the server's own tools.

#![forbid(unsafe_code)]

use super::Shared;
use super::columns::Statements;
use super::row::{HEAD_COLUMNS, Head, PgRow, Reader};
use super::schema;
use super::task_row::id_of;
use super::values::{Values, values};
use crate::error::Result;
use crate::store::sql::{Findings, MOST_LISTED, UnreadableRecord};
use crate::store::{A2aRow, SessionRow, TaskRow};
use crate::text::Text;

/// Records that are read at once.
const PAGE: i64 = 200;

impl Findings {
    fn of_database(shared: &Shared) -> Result<Self> {
        let version = shared.read("SELECT max(version) FROM @schema", &Values::NONE)?;
        let mut findings = Self {
            schema_version: version.first().map_or(0, |columns| columns.integer(0)),
            ..Self::default()
        };
        findings.look_at_database::<TaskRow>(shared)?;
        findings.look_at_database::<SessionRow>(shared)?;
        findings.look_at_database::<A2aRow>(shared)?;
        Ok(findings)
    }

    /// Reads every record of a kind, and compares how many take a slot with what was counted.
    fn look_at_database<R: PgRow>(&mut self, shared: &Shared) -> Result<()> {
        let names = shared.read("SELECT number, name FROM @names WHERE kind = $1", &values![R::KIND])?;
        let statements = Statements::of::<R>();
        for name in &names {
            let number = name.integer(0);
            let mut after = i64::MIN;
            loop {
                let page = values![number, shared.manual_ms(), after.max(number << 40), PAGE];
                let rows = shared.read(&statements.select_all, &page)?;
                for columns in &rows {
                    let Some(head) = Head::read(columns, 1) else { continue };
                    after = head.sequence;
                    self.records += 1;
                    let now = shared.now_at(columns.integer(0));
                    let mut reader = Reader::thorough(columns, 1 + HEAD_COLUMNS);
                    let row = R::read(&mut reader, shared.ticks, now.tick_ns);
                    if row.is_ok_and(|row| !row.is_damaged()) {
                        continue;
                    }
                    self.unreadable_count += 1;
                    if self.unreadable.len() < MOST_LISTED {
                        let id = id_of(columns, 1);
                        self.unreadable.push(UnreadableRecord { kind: R::KIND, name: name.text(1), id });
                    }
                }
                if rows.len() < usize::try_from(PAGE).unwrap_or(usize::MAX) {
                    break;
                }
            }
            self.compare_slots::<R>(shared, number)?;
        }
        Ok(())
    }

    fn compare_slots<R: PgRow>(&mut self, shared: &Shared, number: i64) -> Result<()> {
        let table = format!("{}.taskhold_{}", shared.pool.setup().schema, R::TABLE);
        // Both in one snapshot.
        let sql = format!(
            "SELECT @is_counted($2::regclass) AND (SELECT count(*) FROM @{} t WHERE t.name = $1 AND {}) \
             <> (SELECT coalesce(sum(used), 0) FROM @slots WHERE name = $1)",
            R::TABLE,
            R::TAKES_SLOT
        );
        let rows = shared.read(&sql, &values![number, table.as_str()])?;
        if rows.first().is_some_and(|columns| columns.flag(0)) {
            self.problems.push(format!("the count of {} records under a name is wrong", R::KIND));
        }
        Ok(())
    }
}

pub(super) fn render(shared: &Shared) -> Result<Text> {
    let findings = Findings::of_database(shared)?;
    Ok(findings.report("postgres", schema::VERSION))
}
