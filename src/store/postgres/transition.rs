//! One change of a row. It reads the row with the server's time, decides, and writes on condition that the row is still
//! the one that was read: no lock is held while it decides, so that a process that stands still stops nobody. Who has
//! lost to others several times locks the row before the next read, so that it does not lose for ever.

#![forbid(unsafe_code)]

use std::time::Instant;

use super::super::{Change, Claim, Decide, Limits, corrupt_row};
use super::fault::{Failure, Fault, UNIQUE_VIOLATION};
use super::pins::Ended;
use super::row::{PgRow, Stored, Unreadable, Write};
use super::slots::Inserted;
use super::table::{Heard, PgTable, SWEEP_PER_WRITE, changed};
use super::transaction::Tries;
use super::values::{Row as Columns, Values, values};
use crate::clock::Now;
use crate::error::{Error, Reason, Result};
use crate::events::EventKind;

/// What was read before a write.
struct Found<R> {
    now: Now,
    heard: Heard,
    stored: Option<Stored<R>>,
}

/// How a change is told.
#[derive(Clone, Copy)]
struct Telling {
    is_replicated: bool,
    is_announced: bool,
}

impl Telling {
    fn of<R>(change: &Change<R>) -> Self {
        Self {
            is_replicated: matches!(change, Change::PutReplicated(_)),
            is_announced: !matches!(change, Change::PutUnannounced(_)),
        }
    }

    fn events<R: PgRow>(self, old: Option<&R>, new: &R) -> &'static [EventKind] {
        if self.is_announced { R::events(old, new, self.is_replicated) } else { &[] }
    }
}

impl<R: PgRow> PgTable<R> {
    /// What `decide` makes of the row, as often as others come in between.
    pub(super) fn change(
        &self,
        claim: Option<Claim<'_>>,
        id: &str,
        limits: Limits,
        decide: &mut Decide<'_, R>,
    ) -> Result<()> {
        let mut tries = Tries::default();
        while !self.try_change(claim, id, limits, decide, &mut tries)? {}
        Ok(())
    }

    /// One of `tries`. False when others came in between, and there is another try.
    pub(super) fn try_change(
        &self,
        claim: Option<Claim<'_>>,
        id: &str,
        limits: Limits,
        decide: &mut Decide<'_, R>,
        tries: &mut Tries,
    ) -> Result<bool> {
        let is_done = if tries.is_losing() { self.change_locked(claim, id, decide)? } else { None };
        let is_done = match is_done {
            Some(is_done) => is_done,
            None => self.change_as_read(claim, id, limits, decide, tries)?,
        };
        if !is_done && !tries.again_after_conflict(&self.shared) {
            return Err(Failure::Again.into_error());
        }
        Ok(is_done)
    }

    fn change_as_read(
        &self,
        claim: Option<Claim<'_>>,
        id: &str,
        limits: Limits,
        decide: &mut Decide<'_, R>,
        tries: &Tries,
    ) -> Result<bool> {
        let Found { now, heard, stored } = self.read_to_write(claim, id)?;
        let (alive, gone) = match stored {
            Some(stored) if stored.is_expired(now) => (None, Some(stored.head)),
            Some(Stored { row: Err(Unreadable), .. }) => {
                if claim.is_some_and(|claim| !self.is_claimed(claim, id).unwrap_or(true)) {
                    // To all others it is not there, but its id is taken.
                    return match decide(None, now)? {
                        Change::Keep | Change::Remove => Ok(true),
                        _ => Err(Error::new(Reason::TaskNotFound, "there is no such task for this owner")),
                    };
                }
                return Err(corrupt_row());
            }
            Some(Stored { head, row: Ok(row) }) => (Some((head, row)), None),
            None => (None, None),
        };
        let change = decide(alive.as_ref().map(|(_, row)| row), now)?;
        let telling = Telling::of(&change);
        match (change, alive) {
            (Change::Keep, _) | (Change::Remove, None) => return Ok(true),
            (
                Change::Put(new) | Change::PutReplicated(new) | Change::PutUnannounced(new),
                Some((head, old)),
            ) => {
                let Write { sql, values } = new.update(&old, head, self).map_err(Failure::into_error)?;
                if self.write(sql, &values)? == 0 {
                    return Ok(false);
                }
                self.wrote(heard, telling, Some(&old), &new);
            }
            (Change::Put(new) | Change::PutReplicated(new) | Change::PutUnannounced(new), None) => {
                if let Some(head) = gone {
                    self.remove_expired(head.sequence)?;
                }
                match self.insert(&new, limits, None)? {
                    Inserted::Done(..) => {}
                    Inserted::Taken => return Ok(false),
                    // Expired rows give way, as many as it takes.
                    Inserted::Full(_) if !tries.is_last() && self.make_room()? => return Ok(false),
                    Inserted::Full(error) => return Err(error),
                }
                self.wrote(heard, telling, None, &new);
            }
            (Change::Remove, Some((head, _))) => {
                if self.write(&self.statements.delete, &values![head.sequence, head.version])? == 0 {
                    return Ok(false);
                }
                self.tell_waiters(heard, id);
            }
        }
        self.sweep_if_due(now);
        Ok(true)
    }

    /// The same with the row locked from before it is read. `None` when there is no such row, or it is not one to
    /// decide on.
    fn change_locked(
        &self,
        claim: Option<Claim<'_>>,
        id: &str,
        decide: &mut Decide<'_, R>,
    ) -> Result<Option<bool>> {
        let ended = self.shared.pins.ended();
        let (sql, values) = self.to_write(claim, id);
        let mut wrote = None;
        let is_done = self.shared.transaction(|transaction| {
            wrote = None;
            for sql in &self.statements.lock_to_write {
                transaction.defer(sql, values![self.name, id]);
            }
            let at = Instant::now();
            let rows = transaction.query(sql, values.clone())?;
            let Found { now, heard, stored } = self.found(&rows, at, &ended).map_err(Failure::Refused)?;
            let Some(Stored { head, row: Ok(old) }) = stored.filter(|stored| !stored.is_expired(now)) else {
                return Ok(None);
            };
            let change = decide(Some(&old), now).map_err(Failure::Refused)?;
            let telling = Telling::of(&change);
            let (write, new) = match change {
                Change::Keep => return Ok(Some(true)),
                Change::Put(new) | Change::PutReplicated(new) | Change::PutUnannounced(new) => {
                    (new.update(&old, head, self)?, Some(new))
                }
                Change::Remove => {
                    let values = values![head.sequence, head.version];
                    (Write { sql: &self.statements.delete, values }, None)
                }
            };
            let is_done = changed(&transaction.finish(write.sql, write.values)?) > 0;
            wrote = is_done.then_some((now, heard, telling, old, new));
            Ok(Some(is_done))
        })?;
        if let Some((now, heard, telling, old, new)) = wrote {
            match new {
                Some(new) => self.wrote(heard, telling, Some(&old), &new),
                None => self.tell_waiters(heard, id),
            }
            self.sweep_if_due(now);
        }
        Ok(is_done)
    }

    /// Creates a row that is most likely not there, in one way to the server and back. What `decide` makes of it is
    /// dated by what is known here of the server's time, and by the server itself where it is stored; then it is
    /// decided again with that date, for the caller.
    pub(super) fn create_new(&self, id: &str, limits: Limits, decide: &mut Decide<'_, R>) -> Result<()> {
        let at = Instant::now();
        let now = self.shared.now()?;
        let Change::Put(new) = decide(None, now)? else { return self.change(None, id, limits, decide) };
        let made_at_ms = self.shared.manual_ms().is_none().then_some(now.wall_ms);
        let Inserted::Done(created_at, kinds) = self.insert(&new, limits, made_at_ms)? else {
            // The id is taken, or the limit is reached: that is decided on what is there.
            return self.change(None, id, limits, decide);
        };
        let created_at = created_at.filter(|_| made_at_ms.is_some()).unwrap_or(now.wall_ms);
        let now = self.shared.note_time(created_at);
        let Change::Put(new) = decide(None, now)? else { return Err(Fault::Protocol.into_error()) };
        let telling = Telling { is_replicated: false, is_announced: true };
        self.wrote(Heard { kinds, at }, telling, None, &new);
        self.sweep_if_due(now);
        Ok(())
    }

    /// The statement that reads the row `id` and all that a write must know beside it.
    fn to_write(&self, claim: Option<Claim<'_>>, id: &str) -> (&str, Values) {
        if claim.is_some() {
            return (&self.statements.select_to_write_claimed, self.shown(claim, id));
        }
        let values = values![self.name, self.shared.manual_ms(), id, self.shared.number];
        (&self.statements.select_to_write, values)
    }

    fn read_to_write(&self, claim: Option<Claim<'_>>, id: &str) -> Result<Found<R>> {
        // Before the database is read: what is removed from it meanwhile is forgotten here.
        let ended = self.shared.pins.ended();
        let at = Instant::now();
        let (sql, values) = self.to_write(claim, id);
        self.found(&self.shared.read(sql, &values)?, at, &ended)
    }

    fn found(&self, rows: &[Columns], at: Instant, ended: &[Ended]) -> Result<Found<R>> {
        let columns = rows.first().ok_or_else(|| Fault::Protocol.into_error())?;
        let now = self.shared.note_time(columns.integer(0));
        let heard = Heard { kinds: columns.integer(1), at };
        Ok(Found { now, heard, stored: self.stored(columns, 2, now, ended)? })
    }

    /// Runs a statement that writes, and says how many rows it changed; none where another has what must be unique.
    fn write(&self, sql: &str, values: &Values) -> Result<i64> {
        match self.shared.write(sql, values) {
            Ok(answer) => Ok(changed(&answer)),
            Err(Failure::Storage(fault)) if fault.is(UNIQUE_VIOLATION) => Ok(0),
            Err(failure) => Err(failure.into_error()),
        }
    }

    /// A row was written.
    fn wrote(&self, heard: Heard, telling: Telling, old: Option<&R>, new: &R) {
        self.expect_deadline(new);
        R::stored(self, new);
        self.tell(heard, telling.events(old, new), old, new);
    }

    fn sweep_if_due(&self, now: Now) {
        if self.is_sweep_due(now) {
            // What cannot be removed now is removed by whoever comes by later.
            let _ = self.sweep_batch(SWEEP_PER_WRITE);
        }
    }
}
