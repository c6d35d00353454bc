//! The findings of `taskhold_store_check`: whether SQLite finds the file sound, which schema it has, whether
//! the counts that limits rely on are right, and which records cannot be read.

#![forbid(unsafe_code)]

use rusqlite::Connection;

use super::columns::Statements;
use super::row::{HEAD_COLUMNS, Reader, SqlRow};
use super::task_row::id_of;
use super::{Shared, failure, schema};
use crate::clock::Now;
use crate::error::Result;
use crate::store::sql::{Findings, MOST_LISTED, UnreadableRecord};
use crate::store::{A2aRow, SessionRow, TaskRow};
use crate::text::Text;

impl Findings {
    fn of_file(connection: &Connection, shared: &Shared, now: Now) -> rusqlite::Result<Self> {
        let snapshot = connection.unchecked_transaction()?;
        let mut findings = Self {
            schema_version: snapshot.pragma_query_value(None, "user_version", |row| row.get(0))?,
            ..Self::default()
        };
        let mut integrity = snapshot.prepare(&format!("PRAGMA integrity_check({MOST_LISTED})"))?;
        for line in integrity.query_map((), |row| row.get::<_, String>(0))? {
            let line = line?;
            if line != "ok" {
                findings.problems.push(line);
            }
        }
        findings.look_at_file::<TaskRow>(&snapshot, shared, now)?;
        findings.look_at_file::<SessionRow>(&snapshot, shared, now)?;
        findings.look_at_file::<A2aRow>(&snapshot, shared, now)?;
        Ok(findings)
    }

    /// Reads every record of a kind, and counts those of each name that take a slot.
    fn look_at_file<R: SqlRow>(
        &mut self,
        snapshot: &Connection,
        shared: &Shared,
        now: Now,
    ) -> rusqlite::Result<()> {
        let mut names =
            snapshot.prepare("SELECT number, name, iif(counted, slots, NULL) FROM names WHERE kind = ?1")?;
        let names = names.query_map((R::KIND,), |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, Option<i64>>(2)?))
        })?;
        let mut records = snapshot.prepare(&Statements::of::<R>().select_all)?;
        for name in names {
            let (number, name, slots) = name?;
            let mut rows = records.query((number, super::table::system_ms(), i64::MIN))?;
            let mut taken = 0;
            while let Some(columns) = rows.next()? {
                self.records += 1;
                taken += i64::from(columns.get_ref(2)?.as_i64().ok() != Some(0));
                let row = R::read(&mut Reader::thorough(columns, HEAD_COLUMNS), shared.ticks, now.tick_ns);
                if row.is_ok_and(|row| !row.is_damaged()) {
                    continue;
                }
                self.unreadable_count += 1;
                if self.unreadable.len() < MOST_LISTED {
                    let id = id_of(columns, HEAD_COLUMNS);
                    self.unreadable.push(UnreadableRecord { kind: R::KIND, name: name.clone(), id });
                }
            }
            if slots.is_some_and(|slots| slots != taken) {
                self.problems.push(format!("the count of {} records under a name is wrong", R::KIND));
            }
        }
        Ok(())
    }
}

pub(super) fn render(shared: &Shared) -> Result<Text> {
    let now = shared.now();
    let mut findings = match shared.read(|connection| Findings::of_file(connection, shared, now)) {
        Ok(findings) => findings,
        // A file that SQLite itself gives up on is a finding, too.
        Err(error) if error.reason() == failure::corrupt_file().reason() => {
            Findings { problems: vec!["the file is damaged".to_owned()], ..Findings::default() }
        }
        Err(error) => return Err(error),
    };
    let guard = shared.file.guard();
    if guard.check(true).is_err() {
        findings.problems.push(if guard.has_files() {
            "something else in this process dropped the locks of the file".to_owned()
        } else {
            "the file or its log was removed or replaced while it was open".to_owned()
        });
    }
    Ok(findings.report("sqlite", schema::VERSION))
}
