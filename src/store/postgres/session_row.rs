//! MCP sessions in their table. Their pins have a table of their own ([`super::pins`]).

#![forbid(unsafe_code)]

use super::super::SessionRow;
use super::super::sql::{Column, bind_session, read_session, session_columns};
use super::columns::Binder;
use super::fault::Failure;
use super::pins::{self, Ended};
use super::row::{PgRow, Reader, Ticks, Unreadable};
use super::table::PgTable;
use super::transaction::Transaction;
use super::watchers;
use crate::error::Result;
use crate::events::EventKind;

impl PgRow for SessionRow {
    const KIND: &'static str = "session";
    const TABLE: &'static str = "sessions";
    const COLUMNS: &'static [Column] = &session_columns(pins::LIVE_PINS, pins::MS_SINCE_LAPSE);
    const TAKES_SLOT: &'static str = "NOT t.terminated";
    const REVISION: &'static str = "version";
    const HAS_CLAIM: &'static str = "t.endpoint = $5 AND t.authorization_partition IS NOT DISTINCT FROM $6";
    const BESIDE: &'static str = pins::PINS_BY_HOLDER;
    const EXPIRES_BY_COLUMN: bool = false;
    const DEPENDENTS: &'static [(&'static str, &'static str)] =
        &[("session_pins", "session"), ("session_watches", "session")];

    fn read(columns: &mut Reader<'_>, ticks: Ticks, now_tick: i64) -> std::result::Result<Self, Unreadable> {
        read_session(columns, ticks, now_tick)
    }

    fn bind(
        &self,
        columns: &mut Binder<'_>,
        ticks: Ticks,
    ) -> std::result::Result<(), std::convert::Infallible> {
        bind_session(self, columns, ticks)
    }

    fn correct(&mut self, beside: &str, ended: &[Ended]) {
        pins::leave_out_ended(self, beside, ended);
    }

    fn expiring(&self, transaction: &mut Transaction<'_>, sequence: i64) -> std::result::Result<(), Failure> {
        watchers::tell(transaction, sequence, self);
        Ok(())
    }

    fn settle(table: &PgTable<Self>, most: usize) -> Result<usize> {
        pins::settle(table, most)
    }

    fn events(_old: Option<&Self>, _new: &Self, _is_replicated: bool) -> &'static [EventKind] {
        &[]
    }
}
