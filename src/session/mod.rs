//! MCP sessions: a compare-and-set session store over a table of sessions. The rules are pure functions over
//! rows; the [`SessionStore`] checks arguments and runs a rule inside the store's atomic step.
//!
//! A terminated session frees its slot at once and stays findable for one idle timeout after its
//! termination. Where the idle timeout is 0, it stays until it is deleted.

#![forbid(unsafe_code)]

mod creation;
mod expired;
mod list;
mod options;
mod pins;
mod snapshot;
#[cfg(test)]
mod tests;
mod transitions;

use std::sync::{Arc, Weak};

use self::creation::Creation;
use self::expired::ExpiredSessions;
use self::options::Options;
use self::pins::Pins;
use self::snapshot::Snapshot;
use self::transitions::{Outcome, check_replacement};
use crate::clock::Now;
use crate::error::{Result, Status};
use crate::fault;
use crate::json::Value;
use crate::options::{check_identifier, check_name};
use crate::store::{Change, Claim, ExpiryListener, Holder, Limits, SessionRow, SessionTable, Store};
use crate::text::Text;

const SESSION_ID: &str = "session_id";

/// A rule over the stored session, if there is one.
type Decide<'a> = dyn FnMut(Option<&SessionRow>, Now) -> Result<Change<SessionRow>> + 'a;

/// A session store. Every method may be called from any number of threads; names, arguments and outcomes are
/// those of `taskhold_session_store_*` in the header.
pub struct SessionStore {
    table: Arc<dyn SessionTable>,
    holder: Holder,
    options: Options,
    pins: Arc<Pins>,
    /// None when the host does not ask for expired sessions.
    expired: Option<Arc<ExpiredSessions>>,
}

#[allow(missing_docs)] // Documented in ffi, function by function.
impl SessionStore {
    pub fn open(store: &Store, options: Option<&str>) -> Result<Self> {
        let options = Options::parse(options)?;
        let table = store.backend().sessions(&options.name)?;
        if options.limits().per_partition.is_some() {
            table.count_partitions()?;
        }
        let bound = usize::try_from(options.keep_expired).unwrap_or(usize::MAX);
        let (holder, pins) = (table.open_holder(bound), Arc::new(Pins::default()));
        watch_expiry(&*table, &pins);
        let expired = (bound > 0).then(|| Arc::new(ExpiredSessions::new(bound)));
        if let Some(expired) = &expired {
            watch_expiry(&*table, expired);
        }
        Ok(Self { table, holder, options, pins, expired })
    }

    /// Ends the pins that this store took. On shared storage that is written down a moment later, by another thread.
    pub fn close(&self) {
        if let Some(held) = self.pins.end() {
            self.table.close_holder(self.holder, held);
        }
    }

    pub fn options(&self) -> Text {
        self.options.to_json()
    }

    /// `None` when admission is declined.
    pub fn create(&self, endpoint: &str, creation: Option<&str>) -> Result<Option<Text>> {
        check_name(endpoint, "endpoint")?;
        let creation = Creation::parse(endpoint, creation)?;
        let mut created = None;
        let outcome =
            self.table.create(self.holder, &creation.session_id, self.options.limits(), &mut |taken, now| {
                fault::point("session_transition");
                let (row, snapshot) = transitions::create(taken, &creation, &self.options, now)?;
                created = Some(snapshot);
                Ok(Change::Put(row))
            });
        match outcome {
            Ok(()) => Ok(created),
            Err(error) if error.status() == Status::CapacityExhausted => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub fn find_by_session_id(&self, session_id: &str) -> Result<Option<Text>> {
        let session = self.find(session_id, None)?;
        if session.is_none() {
            // What is found under an id has a well-formed one.
            check_identifier(session_id, SESSION_ID)?;
        }
        Ok(session)
    }

    pub fn find_authorized_session(
        &self,
        endpoint: &str,
        partition: Option<&str>,
        session_id: &str,
    ) -> Result<Option<Text>> {
        check_name(endpoint, "endpoint")?;
        if let Some(partition) = partition {
            check_name(partition, "partition")?;
        }
        check_identifier(session_id, SESSION_ID)?;
        self.find(session_id, Some(Claim { endpoint, partition }))
    }

    pub fn list_sessions(&self, params: Option<&str>) -> Result<Text> {
        list::list_sessions(&*self.table, &self.options.name, params)
    }

    pub fn replace(&self, expected: &str, updated: &str) -> Result<bool> {
        let updated = match Snapshot::parse(updated).map_err(|error| error.about("updated")) {
            Ok(updated) => updated,
            // Of two malformed arguments the first is reported.
            Err(error) => return Err(parse_expected(expected).err().unwrap_or(error)),
        };
        // Most often `expected` is just what was given out. What equals the stored text needs no reading.
        let stored = match self.swap(expected.trim_matches([' ', '\t', '\n', '\r']), &updated)? {
            Outcome::Replaced => return Ok(true),
            Outcome::Differs(stored) => Some(stored),
            Outcome::Absent => None,
        };
        let expected = parse_expected(expected)?;
        check_replacement(&(&expected).into(), &updated)?;
        match stored {
            // Only the key order or the like differs. Compared with no lock held: should the session change
            // meanwhile, then the second attempt meets another text.
            Some(stored) if Value::trusted(&stored).same_meaning(expected.value) => {
                Ok(matches!(self.swap(&stored, &updated)?, Outcome::Replaced))
            }
            _ => Ok(false),
        }
    }

    pub fn delete_by_session_id(&self, session_id: &str) -> Result<()> {
        check_identifier(session_id, SESSION_ID)?;
        let mut deleted = None;
        self.transact(session_id, Limits::default(), &mut |row, _| {
            deleted = row.map(|row| row.instance);
            Ok(if row.is_some() { Change::Remove } else { Change::Keep })
        })?;
        if let Some(instance) = deleted {
            self.pins.forget(session_id, instance);
        }
        Ok(())
    }

    pub fn pin(&self, session_id: &str) -> Result<bool> {
        check_identifier(session_id, SESSION_ID)?;
        fault::point("session_transition");
        let Some(instance) = self.table.pin(self.holder, session_id)? else { return Ok(false) };
        if self.pins.add(session_id, instance) {
            return Ok(true);
        }
        // The handle was closed meanwhile.
        self.release(session_id, instance)?;
        Ok(false)
    }

    pub fn unpin(&self, session_id: &str) -> Result<()> {
        check_identifier(session_id, SESSION_ID)?;
        // Pins on a session that is gone ended with it; they do not stand in for one on a later session.
        while let Some(taken) = self.pins.take(session_id) {
            let released = self.release(session_id, taken.instance())?;
            taken.released();
            if released {
                break;
            }
        }
        Ok(())
    }

    pub fn take_expired(&self) -> Result<Text> {
        let Some(expired) = &self.expired else { return Ok(Text::from("[]")) };
        self.table.sweep(expired.bound())?;
        for told in self.table.take_expired(self.holder)? {
            expired.add(told);
        }
        Ok(expired.take())
    }

    /// The snapshot, if a claim is needed and good or none is.
    fn find(&self, session_id: &str, claim: Option<Claim<'_>>) -> Result<Option<Text>> {
        let mut found = None;
        let mut visit = |row: &SessionRow| {
            if claim.is_none_or(|Claim { endpoint, partition }| {
                *row.endpoint == *endpoint && row.partition.as_deref() == partition
            }) {
                found = Some(Text::from(&*row.snapshot));
            }
        };
        match claim {
            Some(claim) => self.table.read_claimed(claim, session_id, &mut visit)?,
            None => self.table.read(session_id, &mut visit)?,
        };
        Ok(found)
    }

    fn swap(&self, expected: &str, updated: &Snapshot<'_>) -> Result<Outcome> {
        let mut outcome = Outcome::Absent;
        self.transact(&updated.session_id, Limits::default(), &mut |row, now| {
            let (change, decided) = transitions::replace(row, expected, updated, now)?;
            outcome = decided;
            Ok(change)
        })?;
        Ok(outcome)
    }

    /// Gives a pin back to the table. False when its session is gone: then all pins on it are forgotten.
    fn release(&self, session_id: &str, instance: i64) -> Result<bool> {
        fault::point("session_transition");
        let is_there = self.table.unpin(self.holder, session_id, instance)?;
        if !is_there {
            self.pins.forget(session_id, instance);
        }
        Ok(is_there)
    }

    /// The table's atomic step, with a place where tests inject a panic.
    fn transact(&self, session_id: &str, limits: Limits, decide: &mut Decide<'_>) -> Result<()> {
        self.table.transact_within(session_id, limits, &mut |row, now| {
            fault::point("session_transition");
            decide(row, now)
        })
    }
}

fn parse_expected(expected: &str) -> Result<Snapshot<'_>> {
    Snapshot::parse(expected).map_err(|error| error.about("expected"))
}

impl Drop for SessionStore {
    fn drop(&mut self) {
        self.close();
    }
}

/// Lets `listener` hear of expired sessions for as long as its handle lives.
fn watch_expiry<L: ExpiryListener<SessionRow> + 'static>(table: &dyn SessionTable, listener: &Arc<L>) {
    let listener: Weak<L> = Arc::downgrade(listener);
    table.watch_expiry(listener);
}
