//! What a table of sessions can do beside what every table can: it lists them in order of creation, counts pins, and
//! tells the processes that have to do with a session when another one removes it by expiry.

#![forbid(unsafe_code)]

use std::sync::Arc;

use super::{Decide, Limits, SessionRow, Table};
use crate::error::Result;

/// Which sessions an operator's listing shows.
#[derive(Clone, Copy, Debug, Default)]
pub struct SessionQuery<'a> {
    /// Only sessions of this endpoint.
    pub endpoint: Option<&'a str>,
    /// Only sessions of this partition; `Some(None)` is the anonymous one.
    #[allow(
        clippy::option_option,
        reason = "no filter, the anonymous partition, and a named one are three things"
    )]
    pub partition: Option<Option<&'a str>>,
    /// Only sessions created after the one with this sequence number; 0 starts at the oldest.
    pub after: u64,
    /// At most so many rows.
    pub limit: usize,
}

/// Who creates and pins sessions: one for each open session store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Holder(pub i64);

/// Pins of one holder on one session: its id, its instance, how many.
pub type HeldPins = (Arc<str>, i64, u32);

/// A session that was removed because it expired.
#[derive(Clone, Debug)]
pub struct ExpiredSession {
    /// See [`SessionRow::expiry_reason`].
    pub reason: Arc<str>,
    /// The session's id.
    pub id: Arc<str>,
    /// Its endpoint.
    pub endpoint: Arc<str>,
}

/// A table of sessions, which are pinned while they are in use. A pin belongs to its holder and ends with it; on
/// storage that outlives the process it is a lease, which is renewed for as long as its holder is open.
pub trait SessionTable: Table<SessionRow> {
    /// A new holder, for which at most `keep_expired` sessions are kept that it created or pinned and that another
    /// process removed by expiry; 0: none.
    fn open_holder(&self, keep_expired: usize) -> Holder;

    /// [`Table::transact_within`] for a session that `holder` creates.
    fn create(
        &self,
        holder: Holder,
        id: &str,
        limits: Limits,
        decide: &mut Decide<'_, SessionRow>,
    ) -> Result<()> {
        let _ = holder;
        self.transact_within(id, limits, decide)
    }

    /// Shows the rows that match and have not expired, oldest first. Gives the sequence number to continue after, or
    /// `None` when nothing is left. Ids of rows that cannot be read go to `corrupt`. `visit` must not call the store.
    fn list(
        &self,
        query: &SessionQuery<'_>,
        visit: &mut dyn FnMut(&SessionRow),
        corrupt: &mut Vec<String>,
    ) -> Result<Option<u64>>;

    /// Pins the session `id` once more and gives its instance; `None` when there is no such session.
    fn pin(&self, holder: Holder, id: &str) -> Result<Option<i64>>;

    /// Lets go of one pin of `holder` on the session `id`. False when that session is gone, or another one than
    /// `instance` is there.
    fn unpin(&self, holder: Holder, id: &str, instance: i64) -> Result<bool>;

    /// Takes the sessions that are kept for `holder`, oldest first. What this process removes goes to its listeners.
    fn take_expired(&self, holder: Holder) -> Result<Vec<ExpiredSession>> {
        let _ = holder;
        Ok(Vec::new())
    }

    /// The holder ended with these pins, which hold nothing from now on. Never blocks, and cannot fail.
    fn close_holder(&self, holder: Holder, held: Vec<HeldPins>);
}
