//! Pins in the database are leases: each holder has a row for each session that it pins, and renews it while it is open.
//! What a process that was killed left behind lapses, and the session's idle time begins at that instant. A handle
//! that is closed is no longer renewed from that moment on, and the worker removes its rows soon after; until then
//! this process does not count them. Whoever changes the pins of a session locks the session's row first.

#![forbid(unsafe_code)]

use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) use super::super::sql::{Ended, Pins};
use super::super::{Holder, Row as _, SessionRow};
use super::Shared;
use super::columns::shown_columns;
use super::fault::Failure;
use super::row::{SEQUENCE_BITS, Stored, Unreadable};
use super::statement_text::{now, server_ms};
use super::table::PgTable;
use super::transaction::Transaction;
use super::values::{Values, values};
use crate::clock::Now;
use crate::error::Result;

/// Rows of one ended holder that are removed in one transaction.
const MOST_AT_ONCE: usize = 256;
/// How soon what failed is tried again.
const RETRY: Duration = Duration::from_millis(500);

/// One pin more of a holder on a session, for `$3` milliseconds.
pub(super) const PIN: &str = concat!(
    "INSERT INTO @session_pins AS p (session, holder, pins, lease_until) VALUES ($1, $2, 1, $3 + ",
    server_ms!(),
    ") ON CONFLICT (session, holder) DO UPDATE SET pins = p.pins + 1, lease_until = excluded.lease_until"
);
/// One pin less; says whether there was one.
pub(super) const UNPIN: &str = "WITH u AS (UPDATE @session_pins SET pins = pins - 1 WHERE session = $1 AND holder = $2 \
     AND pins > 1 RETURNING 1), d AS (DELETE FROM @session_pins WHERE session = $1 AND holder = $2 AND pins <= 1 \
     RETURNING 1) SELECT (SELECT count(*) FROM u) + (SELECT count(*) FROM d)";
const UNPIN_LAST: &str = "DELETE FROM @session_pins WHERE session = $1 AND holder = $2";
const DROP_LAPSED: &str =
    concat!("DELETE FROM @session_pins WHERE session = $1 AND lease_until <= ", server_ms!());
const COUNT: &str = concat!(
    "SELECT coalesce(sum(pins), 0)::bigint FROM @session_pins WHERE session = $1 AND lease_until > ",
    server_ms!()
);
const WRITE_COUNT: &str = "UPDATE @sessions SET pins = $2, unpinned_at = $3, expires_at = $4, \
     row_version = row_version + 1 WHERE sequence = $1";
/// Puts leases that run further off, for `$2` milliseconds.
const RENEW: &str = concat!(
    "UPDATE @session_pins SET lease_until = $2 + ",
    server_ms!(),
    " WHERE holder = $1 AND lease_until > ",
    server_ms!()
);
const PIN_AGAIN: &str = concat!(
    "INSERT INTO @session_pins (session, holder, pins, lease_until) VALUES ($1, $2, $3, $4 + ",
    server_ms!(),
    ") ON CONFLICT (session, holder) DO UPDATE SET lease_until = excluded.lease_until"
);
const OF_HOLDER: &str = "SELECT session FROM @session_pins WHERE holder = $1 ORDER BY session LIMIT $2";

/// Pins whose leases run, as a column of a session.
pub(super) const LIVE_PINS: &str = concat!(
    "CASE WHEN t.pins > 0 THEN (SELECT coalesce(sum(p.pins), 0)::bigint FROM @session_pins p \
     WHERE p.session = t.sequence AND p.lease_until > ",
    server_ms!(),
    ") END"
);
/// How long ago the last lease lapsed, as a column of a session.
pub(super) const MS_SINCE_LAPSE: &str = concat!(
    "CASE WHEN t.pins > 0 THEN (SELECT ",
    server_ms!(),
    " - max(p.lease_until) FROM @session_pins p WHERE p.session = t.sequence) END"
);
/// Whose pins these are: `holder:pins,holder:pins`.
pub(super) const PINS_BY_HOLDER: &str = concat!(
    "CASE WHEN t.pins > 0 THEN (SELECT string_agg(p.holder || ':' || p.pins, ',') FROM @session_pins p \
     WHERE p.session = t.sequence AND p.lease_until > ",
    server_ms!(),
    ") END"
);

/// Sessions of a name on which a lease lapsed, locked: `$1` the name, `$3` at most.
fn lapsed_sql() -> String {
    format!(
        "SELECT {}, {} FROM @sessions t WHERE t.sequence IN (SELECT DISTINCT session FROM @session_pins \
         WHERE lease_until <= (SELECT {}) AND session >= $1 << {bits} AND session < ($1 + 1) << {bits} LIMIT $3) \
         FOR UPDATE OF t SKIP LOCKED",
        now!(),
        shown_columns::<SessionRow>(false),
        server_ms!(),
        bits = SEQUENCE_BITS
    )
}

/// Leaves out of a session's pins those of holders that ended here, whose rows are still to be removed.
pub(super) fn leave_out_ended(row: &mut SessionRow, by_holder: &str, ended: &[Ended]) {
    for (holder, pins) in by_holder.split(',').filter_map(|entry| entry.split_once(':')) {
        let (Ok(holder), Ok(pins)) = (holder.parse().map(Holder), pins.parse()) else { continue };
        if let Some(ended) = ended.iter().find(|ended| ended.holder == holder) {
            *row = row.unpinned(pins, ended.tick_ns);
        }
    }
}

/// The worker's turn: removes what ended holders left, and renews leases. Says when to come back.
pub(super) fn turn(shared: &Arc<Shared>) -> Option<Duration> {
    let is_left = remove_ended(shared);
    let every = Pins::renew_every();
    let rest = shared.pins.time_to_renewal().map(|rest| {
        if !rest.is_zero() {
            rest
        } else if renew(shared).is_ok() {
            every
        } else {
            RETRY.min(every)
        }
    });
    is_left.then_some(RETRY).into_iter().chain(rest).min()
}

/// The store is closed: nothing is held any more. What cannot be removed now lapses.
pub(super) fn end_all(shared: &Arc<Shared>) {
    let Ok(now) = shared.now() else { return };
    shared.pins.end_all(now.tick_ns);
    remove_ended(shared);
}

/// Removes the rows of ended holders, a bounded number in each transaction. True when some are left.
fn remove_ended(shared: &Arc<Shared>) -> bool {
    for ended in shared.pins.ended() {
        loop {
            let removed = shared.transaction(|transaction| let_go(transaction, shared, ended, MOST_AT_ONCE));
            match removed {
                Ok(MOST_AT_ONCE) => {}
                Ok(_) => break shared.pins.forget_ended(&[ended.holder]),
                _ if ended.lapses <= Instant::now() => break shared.pins.forget_ended(&[ended.holder]),
                _ => return true,
            }
        }
    }
    false
}

/// Removes up to `most` rows of an ended holder and says how many.
fn let_go<'t>(
    transaction: &mut Transaction<'t>,
    shared: &'t Shared,
    ended: Ended,
    most: usize,
) -> std::result::Result<usize, Failure> {
    let values = values![ended.holder.0, i64::try_from(most).unwrap_or(i64::MAX)];
    let sessions: Vec<i64> =
        transaction.query(OF_HOLDER, values)?.iter().map(|columns| columns.integer(0)).collect();
    for &number in &sessions {
        let found = session(transaction, shared, number)?;
        transaction.defer(UNPIN_LAST, values![number, ended.holder.0]);
        if let Some((row, _)) = found {
            recount(transaction, shared, number, row, Some(ended.tick_ns))?;
        }
    }
    Ok(sessions.len())
}

/// Puts the leases of this store's pins further off. Those that lapsed meanwhile, because this process was suspended,
/// are taken again if their session is still there.
pub(super) fn renew(shared: &Arc<Shared>) -> Result<()> {
    let begun = Instant::now();
    let mut gone = Vec::new();
    shared.transaction(|transaction| {
        gone.clear();
        let held = shared.pins.held();
        for (holder, sessions) in held.iter().filter(|(_, sessions)| !sessions.is_empty()) {
            let renewed = transaction.run(RENEW, values![holder.0, Pins::lease_ms()])?.affected;
            if usize::try_from(renewed).unwrap_or(usize::MAX) >= sessions.len() {
                continue;
            }
            let mut sessions: Vec<(&i64, &u32)> = sessions.iter().collect();
            // Rows are locked in the same order by everybody.
            sessions.sort_unstable();
            for (&number, &count) in sessions {
                let is_alive =
                    |row: &SessionRow, now: Now| row.expires_at().is_none_or(|end| end > now.tick_ns);
                let found = session(transaction, shared, number)?;
                let Some((row, _)) = found.filter(|(row, now)| is_alive(row, *now)) else {
                    gone.push((*holder, number));
                    continue;
                };
                transaction.defer(PIN_AGAIN, values![number, holder.0, i64::from(count), Pins::lease_ms()]);
                recount(transaction, shared, number, row, None)?;
            }
        }
        Ok(())
    })?;
    shared.pins.forget_gone(&gone);
    shared.pins.renewed(begun);
    Ok(())
}

/// The session with this number as it is now, locked, and the time, if it is there and can be read.
fn session<'t>(
    transaction: &mut Transaction<'t>,
    shared: &'t Shared,
    session: i64,
) -> std::result::Result<Option<(SessionRow, Now)>, Failure> {
    let values = values![session >> SEQUENCE_BITS, shared.manual_ms(), session];
    let rows = transaction.query(&shared.session_by_number, values)?;
    let Some(columns) = rows.first() else { return Ok(None) };
    let now = shared.now_at(columns.integer(0));
    let stored = Stored::<SessionRow>::read(columns, 1, shared.ticks, now, &[])?;
    Ok(stored.and_then(|stored| stored.row.ok()).map(|row| (row, now)))
}

/// Writes down what the pins of a session come to. `row` is the session as it was before they changed, `let_go_at`
/// when one was let go, if that is how.
pub(super) fn recount<'t>(
    transaction: &mut Transaction<'t>,
    shared: &'t Shared,
    session: i64,
    mut row: SessionRow,
    let_go_at: Option<i64>,
) -> std::result::Result<(), Failure> {
    let rows = transaction.query(COUNT, values![session])?;
    let count = rows.first().map_or(0, |columns| columns.integer(0));
    row.pins = u32::try_from(count).unwrap_or(u32::MAX);
    if row.pins == 0 && let_go_at.is_some() {
        row.unpinned_tick_ns = let_go_at;
    }
    let ticks = shared.ticks;
    let unpinned_at = row.unpinned_tick_ns.map(|tick| ticks.ms(tick));
    let expires_at = row.expires_at().map(|deadline| ticks.deadline_ms(deadline));
    transaction.defer(WRITE_COUNT, values![session, i64::from(row.pins), unpinned_at, expires_at]);
    Ok(())
}

/// Writes down for sessions of a table that leases lapsed or that their holder ended, up to `most` of each. Says for
/// how many.
pub(super) fn settle(table: &PgTable<SessionRow>, most: usize) -> Result<usize> {
    let shared: &Arc<Shared> = &table.shared;
    let at_most = i64::try_from(most).unwrap_or(i64::MAX);
    let sql = lapsed_sql();
    let is_any = shared.read(
        concat!(
            "SELECT 1::bigint FROM @session_pins WHERE lease_until <= (SELECT ",
            server_ms!(),
            ") LIMIT 1"
        ),
        &Values::NONE,
    )?;
    let mut settled = 0;
    if !is_any.is_empty() {
        settled = shared.transaction(|transaction| {
            let values = values![table.name, shared.manual_ms(), at_most];
            let lapsed = transaction.query(&sql, values)?;
            for columns in &lapsed {
                let now = shared.now_at(columns.integer(0));
                let stored = Stored::<SessionRow>::read(columns, 1, shared.ticks, now, &[])?;
                let Some(Stored { head, row }) = stored else { continue };
                transaction.defer(DROP_LAPSED, values![head.sequence]);
                // What is left are the pins of others, and when the last of all lapsed.
                if let Ok(row) = row {
                    let lapsed_at = row.unpinned_tick_ns.filter(|_| row.pins == 0);
                    recount(transaction, shared, head.sequence, row, lapsed_at)?;
                }
            }
            Ok(lapsed.len())
        })?;
    }
    for ended in shared.pins.ended() {
        settled += shared.transaction(|transaction| let_go(transaction, shared, ended, most))?;
    }
    Ok(settled)
}

impl PgTable<SessionRow> {
    /// The session with this id that is alive, locked, with its sequence number and the time.
    pub(super) fn live<'t>(
        &'t self,
        transaction: &mut Transaction<'t>,
        id: &str,
    ) -> std::result::Result<Option<(i64, SessionRow, Now)>, Failure> {
        let ended = self.shared.pins.ended();
        let values = values![self.name, self.shared.manual_ms(), id];
        let rows = transaction.query(&self.statements.lock_id, values)?;
        let Some(columns) = rows.first() else { return Ok(None) };
        let now = self.shared.now_at(columns.integer(0));
        let found = self.stored(columns, 1, now, &ended).map_err(Failure::Refused)?;
        let Some(stored) = found.filter(|stored| !stored.is_expired(now)) else { return Ok(None) };
        let row = stored.row.map_err(|Unreadable| Failure::Refused(super::super::corrupt_row()))?;
        Ok(Some((stored.head.sequence, row, now)))
    }
}
