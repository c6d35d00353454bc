//! A2A tasks: the task state provider that decides whether a task's queue may close, and the task store that
//! it answers from. `task` reads a Task object once, `transitions` and `liveness` are the rules, `cut`,
//! `list` and `token` give tasks out again. The [`StateProvider`] checks arguments, runs a rule inside the
//! store's atomic step, and announces.

#![forbid(unsafe_code)]

mod cut;
mod list;
mod liveness;
mod options;
mod state;
mod task;
mod token;
mod transitions;

use std::sync::Arc;

use self::list::ListParams;
pub(crate) use self::list::MAXIMUM_PAGE_SIZE;
pub use self::liveness::Liveness;
use self::options::{Options, SaveOptions};
use self::task::Document;
use self::transitions::{Save, Saved};
use crate::error::Result;
use crate::events::{EventKind, EventQueue};
use crate::fault;
use crate::options::{check_identifier, check_name};
use crate::store::{A2aTable, Change, Claim, Store};
use crate::text::Text;

/// A state provider. Every method may be called from any number of threads; names, arguments and outcomes are
/// those of `taskhold_state_provider_*` in the header.
pub struct StateProvider {
    table: Arc<dyn A2aTable>,
    options: Options,
}

#[allow(missing_docs)] // Documented in ffi, function by function.
impl StateProvider {
    pub fn open(store: &Store, options: Option<&str>) -> Result<Self> {
        let options = Options::parse(options)?;
        let table = store.backend().a2a_tasks(&options.name)?;
        Ok(Self { table, options })
    }

    pub fn options(&self) -> Text {
        self.options.to_json()
    }

    /// The revision that this save made.
    pub fn save_task(&self, owner: Option<&str>, task: &str, save_options: Option<&str>) -> Result<u64> {
        check_owner(owner)?;
        let document = Document::parse(task, self.options.maximum_payload_bytes)?;
        let save_options = SaveOptions::parse(save_options)?;
        let save = Save {
            id: &document.id,
            owner,
            context_id: document.context_id.as_deref(),
            state: &document.state,
            status_timestamp_ms: document.status_timestamp_ms,
            task: Arc::from(document.text),
            history: document.history.map(Arc::new),
            artifacts: document.artifacts.map(Arc::new),
            expected_revision: save_options.expected_revision,
            finalized_retention_ms: self.options.finalized_retention_ms,
        };
        let mut revision = 0;
        let mut announce = false;
        self.table.transact_claimed(
            claim(owner),
            save.id,
            self.options.maximum_retained_tasks,
            &mut |stored, now| {
                fault::point("a2a_transition");
                let Saved { row, became_final } = transitions::save(stored, &save, now.tick_ns)?;
                revision = row.revision;
                announce = became_final && !save_options.is_replicated;
                // A replicated save is announced nowhere, also not by a store that tells other processes.
                Ok(if save_options.is_replicated { Change::PutUnannounced(row) } else { Change::Put(row) })
            },
        )?;
        if announce {
            self.table.hub().announce(EventKind::Finalized, save.id);
        }
        Ok(revision)
    }

    /// The task and its revision.
    pub fn get_task(
        &self,
        owner: Option<&str>,
        task_id: &str,
        params: Option<&str>,
    ) -> Result<Option<(Text, u64)>> {
        check_owner(owner)?;
        check_identifier(task_id, "task_id")?;
        let view = list::parse_get_params(params)?;
        let mut answer = None;
        self.table.read_claimed(claim(owner), task_id, &mut |row| {
            if row.owner.as_deref() != owner {
                return;
            }
            let pieces = cut::pieces(row.listed(), view);
            let mut text = Text::with_capacity(pieces.len());
            pieces.push_to(&mut text);
            answer = Some((text, row.revision));
        })?;
        Ok(answer)
    }

    pub fn delete_task(&self, owner: Option<&str>, task_id: &str) -> Result<()> {
        check_owner(owner)?;
        check_identifier(task_id, "task_id")?;
        self.table.transact_claimed(claim(owner), task_id, None, &mut |stored, _| {
            fault::point("a2a_transition");
            Ok(transitions::delete(stored, owner))
        })
    }

    pub fn list_tasks(&self, owner: Option<&str>, params: Option<&str>) -> Result<Text> {
        check_owner(owner)?;
        ListParams::parse(params)?.page(&*self.table, owner)
    }

    pub fn is_task_active(&self, task_id: &str) -> Result<bool> {
        self.task_liveness(task_id).map(Liveness::is_active)
    }

    pub fn is_task_finalized(&self, task_id: &str) -> Result<bool> {
        self.task_liveness(task_id).map(Liveness::is_finalized)
    }

    pub fn task_liveness(&self, task_id: &str) -> Result<Liveness> {
        check_identifier(task_id, "task_id")?;
        let mut answer = Liveness::Absent;
        // Before the read: a task that becomes final after this is one that just did.
        let tick_ns = self.table.now()?.tick_ns;
        self.table.read(task_id, &mut |row| {
            answer = liveness::liveness(row, self.options.grace_period_ms, tick_ns);
        })?;
        Ok(answer)
    }

    pub fn open_events(&self, capacity: u32) -> Result<Arc<EventQueue>> {
        self.table.hub().open_queue(capacity)
    }
}

/// What a task must say to be this owner's.
fn claim(owner: Option<&str>) -> Claim<'_> {
    Claim { endpoint: "", partition: owner }
}

fn check_owner(owner: Option<&str>) -> Result<()> {
    owner.map_or(Ok(()), |owner| check_name(owner, "owner"))
}
