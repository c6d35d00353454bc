//! Pins in the file are leases: each holder has a row for each session that it pins, and renews it while it is open.
//! What a process that was killed left behind lapses, and the session's idle time begins at that instant. A handle
//! that is closed is no longer renewed from that moment on, and the worker removes its rows soon after; until then
//! this process does not count them.

#![forbid(unsafe_code)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;

pub(super) use super::super::sql::{Ended, Pins};
use super::super::{Holder, Row as _, SessionRow};
use super::Shared;
use super::columns::select;
use super::row::{HEAD_COLUMNS, Reader, SEQUENCE_BITS, SqlRow};
use super::table::{SqlTable, Stored, system_ms};
use super::writer::Transaction;
use crate::clock::Now;
use crate::error::Result;

/// Rows of one ended holder that are removed in one transaction.
const MOST_AT_ONCE: usize = 256;
/// How soon what failed is tried again.
const RETRY: Duration = Duration::from_millis(500);

/// One pin more of a holder on a session.
pub(super) const PIN: &str = "INSERT INTO session_pins (session, holder, pins, lease_until) VALUES (?1, ?2, 1, ?3) \
     ON CONFLICT (session, holder) DO UPDATE SET pins = pins + 1, lease_until = excluded.lease_until";
pub(super) const UNPIN: &str =
    "UPDATE session_pins SET pins = pins - 1 WHERE session = ?1 AND holder = ?2 AND pins > 1";
pub(super) const UNPIN_LAST: &str = "DELETE FROM session_pins WHERE session = ?1 AND holder = ?2";
const DROP_LAPSED: &str = "DELETE FROM session_pins WHERE session = ?1 AND lease_until <= ?2";
const COUNT: &str = "SELECT coalesce(sum(pins), 0) FROM session_pins WHERE session = ?1 AND lease_until > ?2";
const WRITE_COUNT: &str =
    "UPDATE sessions SET pins = ?2, unpinned_at = ?3, expires_at = ?4 WHERE sequence = ?1";
const RENEW: &str = "UPDATE session_pins SET lease_until = ?2 WHERE holder = ?1 AND lease_until > ?3";
const PIN_AGAIN: &str = "INSERT INTO session_pins (session, holder, pins, lease_until) VALUES (?1, ?2, ?3, ?4) \
     ON CONFLICT (session, holder) DO UPDATE SET lease_until = excluded.lease_until";
const OF_HOLDER: &str = "SELECT session FROM session_pins WHERE holder = ?1 LIMIT ?2";
const OF_SESSION: &str = "SELECT holder, pins FROM session_pins WHERE session = ?1 AND lease_until > ?2";
/// Sessions of a name on which a lease lapsed: `?1` the first sequence number of the name, `?3` the first of
/// the next, `?2` the system's time, `?4` at most.
const LAPSED: &str = "WHERE t.sequence IN (SELECT DISTINCT session FROM session_pins WHERE lease_until <= ?2 \
     AND session >= ?1 AND session < ?3 LIMIT ?4)";
const BY_SEQUENCE: &str = "WHERE t.sequence = ?1 AND ?2 IS NOT NULL";

/// Pins whose leases run, as a column of a session.
pub(super) const LIVE_PINS: &str = "CASE WHEN t.pins > 0 THEN (SELECT coalesce(sum(p.pins), 0) \
     FROM session_pins p WHERE p.session = t.sequence AND p.lease_until > ?2) END";
/// How long ago the last lease lapsed, as a column of a session.
pub(super) const MS_SINCE_LAPSE: &str = "CASE WHEN t.pins > 0 THEN (SELECT ?2 - max(p.lease_until) \
     FROM session_pins p WHERE p.session = t.sequence) END";

/// Leaves out of a session's pins those of holders that ended here, whose rows are still to be removed.
pub(super) fn leave_out_ended(
    row: &mut SessionRow,
    sequence: i64,
    ended: &[Ended],
    connection: &Connection,
) -> rusqlite::Result<()> {
    if row.pins == 0 || ended.is_empty() {
        return Ok(());
    }
    let mut statement = connection.prepare_cached(OF_SESSION)?;
    let mut rows = statement.query((sequence, system_ms()))?;
    while let Some(columns) = rows.next()? {
        let holder = Holder(columns.get(0)?);
        if let Some(ended) = ended.iter().find(|ended| ended.holder == holder) {
            *row = row.unpinned(columns.get(1)?, ended.tick_ns);
        }
    }
    Ok(())
}

/// The worker's turn: removes what ended holders left, and renews leases. Says when to come back.
pub(super) fn turn(shared: &Arc<Shared>) -> Option<Duration> {
    let is_left = remove_ended(shared);
    let next = is_left.then_some(RETRY);
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
    next.into_iter().chain(rest).min()
}

/// The store is closed: nothing is held any more. What cannot be removed now lapses.
pub(super) fn end_all(shared: &Arc<Shared>) {
    let tick_ns = shared.now().tick_ns;
    shared.pins.end_all(tick_ns);
    remove_ended(shared);
}

/// Removes the rows of ended holders, a bounded number in each transaction. True when some are left.
fn remove_ended(shared: &Arc<Shared>) -> bool {
    for ended in shared.pins.ended() {
        loop {
            let removed = shared.write(|transaction| Ok(let_go(transaction, shared, ended, MOST_AT_ONCE)?));
            match removed {
                Ok(Ok(MOST_AT_ONCE)) => {}
                Ok(Ok(_)) => break shared.pins.forget_ended(&[ended.holder]),
                _ if ended.lapses <= Instant::now() => break shared.pins.forget_ended(&[ended.holder]),
                _ => return true,
            }
        }
    }
    false
}

/// Removes up to `most` rows of an ended holder and says how many.
fn let_go(
    transaction: &Transaction<'_>,
    shared: &Shared,
    ended: Ended,
    most: usize,
) -> rusqlite::Result<usize> {
    let values = (ended.holder.0, i64::try_from(most).unwrap_or(i64::MAX));
    let sessions = transaction.query_all(OF_HOLDER, values, |columns| columns.get::<_, i64>(0))?;
    for &number in &sessions {
        let row = session(transaction, shared, number, shared.now())?;
        transaction.execute(UNPIN_LAST, (number, ended.holder.0))?;
        if let Some(row) = row {
            recount(transaction, shared, number, row, Some(ended.tick_ns))?;
        }
    }
    Ok(sessions.len())
}

/// Puts the leases of this store's pins further off. Those that lapsed meanwhile, because this process was suspended,
/// are taken again if their session is still there.
pub(super) fn renew(shared: &Arc<Shared>) -> Result<()> {
    let begun = Instant::now();
    shared.write(|transaction| {
        let held = shared.pins.held();
        let (now, system_ms, mut gone) = (shared.now(), system_ms(), Vec::new());
        let lease_until = system_ms + Pins::lease_ms();
        for (holder, sessions) in held.iter().filter(|(_, sessions)| !sessions.is_empty()) {
            if transaction.execute(RENEW, (holder.0, lease_until, system_ms))? >= sessions.len() {
                continue;
            }
            for (&number, &count) in sessions {
                let is_alive = |row: &SessionRow| row.expires_at().is_none_or(|end| end > now.tick_ns);
                let Some(row) = session(transaction, shared, number, now)?.filter(is_alive) else {
                    gone.push((*holder, number));
                    continue;
                };
                transaction.execute(PIN_AGAIN, (number, holder.0, count, lease_until))?;
                recount(transaction, shared, number, row, None)?;
            }
        }
        shared.pins.forget_gone(&gone);
        Ok(())
    })??;
    shared.pins.renewed(begun);
    Ok(())
}

/// The session with this number as it is now, if it is there and can be read.
fn session(
    transaction: &Transaction<'_>,
    shared: &Shared,
    session: i64,
    now: Now,
) -> rusqlite::Result<Option<SessionRow>> {
    let found = transaction.query(&select::<SessionRow>(BY_SEQUENCE), (session, system_ms()), |columns| {
        Stored::<SessionRow>::read(columns, 0, shared, now)
    })?;
    Ok(found.flatten().and_then(|stored| stored.row.ok()))
}

/// Writes down what the pins of a session come to. `row` is the session as it was before they changed, `let_go_at`
/// when one was let go, if that is how.
pub(super) fn recount(
    transaction: &Transaction<'_>,
    shared: &Shared,
    session: i64,
    mut row: SessionRow,
    let_go_at: Option<i64>,
) -> rusqlite::Result<()> {
    let count: Option<i64> = transaction.query(COUNT, (session, system_ms()), |columns| columns.get(0))?;
    row.pins = u32::try_from(count.unwrap_or(0)).unwrap_or(u32::MAX);
    if row.pins == 0 && let_go_at.is_some() {
        row.unpinned_tick_ns = let_go_at;
    }
    let ticks = shared.ticks;
    let unpinned_at = row.unpinned_tick_ns.map(|tick| ticks.ms(tick));
    let expires_at = row.expires_at().map(|deadline| ticks.deadline_ms(deadline));
    transaction.execute(WRITE_COUNT, (session, row.pins, unpinned_at, expires_at)).map(drop)
}

/// Writes down for sessions of a table that leases lapsed or that their holder ended, up to `most` of each. Says for
/// how many.
pub(super) fn settle(
    table: &SqlTable<SessionRow>,
    transaction: &Transaction<'_>,
    now: Now,
    most: usize,
) -> rusqlite::Result<usize> {
    let (shared, system_ms) = (&table.shared, system_ms());
    let at_most = i64::try_from(most).unwrap_or(i64::MAX);
    let values = (table.name << SEQUENCE_BITS, system_ms, (table.name + 1) << SEQUENCE_BITS, at_most);
    let lapsed = transaction.query_all(&select::<SessionRow>(LAPSED), values, |columns| {
        let row = SessionRow::read(&mut Reader::new(columns, HEAD_COLUMNS), shared.ticks, now.tick_ns);
        Ok((columns.get::<_, i64>(0)?, row))
    })?;
    let mut settled = lapsed.len();
    for (session, row) in lapsed {
        transaction.execute(DROP_LAPSED, (session, system_ms))?;
        // What is left are the pins of others, and when the last of all lapsed.
        if let Ok(row) = row {
            let lapsed_at = row.unpinned_tick_ns.filter(|_| row.pins == 0);
            recount(transaction, shared, session, row, lapsed_at)?;
        }
    }
    for ended in shared.pins.ended() {
        settled += let_go(transaction, shared, ended, most.saturating_sub(settled))?;
    }
    Ok(settled)
}
