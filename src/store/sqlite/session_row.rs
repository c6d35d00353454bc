//! MCP sessions in their table. Their pins have a table of their own ([`super::pins`]); the session's row has their
//! number, so that its deadline can stand in an index.

#![forbid(unsafe_code)]

use rusqlite::Connection;

use super::super::SessionRow;
use super::super::sql::{Column, bind_session, read_session, session_columns};
use super::columns::Binder;
use super::pins::{self, Ended};
use super::row::{Place, Reader, SqlRow, Ticks, Unreadable};
use super::table::SqlTable;
use super::watchers;
use super::writer::Transaction;
use crate::clock::Now;
use crate::events::EventKind;

impl SqlRow for SessionRow {
    const KIND: &'static str = "session";
    const TABLE: &'static str = "sessions";
    const COLUMNS: &'static [Column] = &session_columns(pins::LIVE_PINS, pins::MS_SINCE_LAPSE);
    const TAKES_SLOT: &'static str = "NOT t.terminated";
    const REVISION: &'static str = "version";
    const HAS_CLAIM: &'static str = "t.endpoint = ?5 AND t.authorization_partition IS ?6";

    fn read(
        columns: &mut Reader<'_, '_>,
        ticks: Ticks,
        now_tick: i64,
    ) -> std::result::Result<Self, Unreadable> {
        read_session(columns, ticks, now_tick)
    }

    fn bind(&self, columns: &mut Binder<'_, '_>, ticks: Ticks) -> rusqlite::Result<()> {
        bind_session(self, columns, ticks)
    }

    fn correct(&mut self, sequence: i64, ended: &[Ended], connection: &Connection) -> rusqlite::Result<()> {
        pins::leave_out_ended(self, sequence, ended, connection)
    }

    fn deleted(transaction: &Transaction<'_>, place: Place) -> rusqlite::Result<()> {
        transaction.execute("DELETE FROM session_pins WHERE session = ?1", (place.sequence,))?;
        watchers::forget_session(transaction, place.sequence)
    }

    fn expiring(&self, transaction: &Transaction<'_>, sequence: i64) -> rusqlite::Result<()> {
        watchers::tell(transaction, sequence, self)
    }

    fn settle(
        table: &SqlTable<Self>,
        transaction: &Transaction<'_>,
        now: Now,
        most: usize,
    ) -> rusqlite::Result<usize> {
        pins::settle(table, transaction, now, most)
    }

    fn events(_old: Option<&Self>, _new: &Self, _is_replicated: bool) -> &'static [EventKind] {
        &[]
    }
}
