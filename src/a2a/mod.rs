//! A2A tasks: the task state provider that decides whether a task's queue may close, and the task store that
//! it answers from. `task` reads a Task object once, `transitions` and `liveness` are the rules, `cut`,
//! `list` and `token` give tasks out again. The [`StateProvider`] checks arguments, runs a rule inside the
//! store's atomic step, and announces.

#![forbid(unsafe_code)]

mod cut;
mod list;
mod liveness;
mod log;
mod options;
mod owners;
mod push;
mod state;
mod task;
mod token;
mod transitions;
mod wait;

use std::sync::Arc;
use std::time::Duration;

use self::list::ListParams;
pub(crate) use self::list::MAXIMUM_PAGE_SIZE;
pub use self::liveness::Liveness;
use self::log::ReadParams;
use self::options::{Options, SaveOptions};
use self::push::Waiting;
use self::task::Document;
use self::transitions::{Save, Saved};
use crate::clock::Wake as _;
use crate::error::{Reason, Result};
use crate::events::{EventKind, EventQueue};
use crate::fault;
use crate::options::{check_identifier, check_name};
use crate::store::{A2aRow, A2aTable, Appended, Change, Claim, Store, corrupt_row};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::text::{Text, to_shared};

/// A state provider. Every method may be called from any number of threads; names, arguments and outcomes are
/// those of `taskhold_state_provider_*` in the header.
pub struct StateProvider {
    table: Arc<dyn A2aTable>,
    options: Options,
    /// The push notification configs of tasks that are not saved yet.
    waiting: Waiting,
    closed: AtomicBool,
}

#[allow(missing_docs)] // Documented in ffi, function by function.
impl StateProvider {
    pub fn open(store: &Store, options: Option<&str>) -> Result<Self> {
        let options = Options::parse(options)?;
        let table = store.backend().a2a_tasks(&options.name)?;
        Ok(Self { table, options, waiting: Waiting::default(), closed: AtomicBool::new(false) })
    }

    /// Wakes everyone who waits through this provider with `CLOSED`.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.table.hub().wake_all();
    }

    pub fn options(&self) -> Text {
        self.options.to_json()
    }

    /// The revision that this save made.
    pub fn save_task(&self, owner: Option<&str>, task: &str, save_options: Option<&str>) -> Result<u64> {
        check_owner(owner)?;
        let document = Document::parse(task, self.options.maximum_payload_bytes)?;
        let save_options = SaveOptions::parse(save_options, &self.options)?;
        let save = Save {
            id: &document.id,
            owner,
            context_id: document.context_id.as_deref(),
            state: &document.state,
            status_timestamp_ms: document.status_timestamp_ms,
            task: to_shared(document.text)?,
            history: document.history.map(Arc::new),
            artifacts: document.artifacts.map(Arc::new),
            expected_revision: save_options.expected_revision,
            must_exist: save_options.must_exist,
            unless_final: save_options.unless_final,
            appended: save_options.event.map(|text| Appended { text, limits: self.options.log_limits }),
            finalized_retention_ms: self.options.finalized_retention_ms,
            active_retention_ms: self.options.active_retention_ms,
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
                Ok(if save_options.is_replicated { Change::PutReplicated(row) } else { Change::Put(row) })
            },
        )?;
        // The save is made, whatever becomes of them.
        let _ = self.attach_push_configs(owner, save.id);
        let hub = self.table.hub();
        hub.announce(EventKind::Saved, save.id);
        if announce {
            hub.announce(EventKind::Finalized, save.id);
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
            if row.is_damaged() {
                answer = Some(Err(corrupt_row()));
                return;
            }
            let pieces = cut::pieces(row.listed(), view);
            let mut text = Text::with_capacity(pieces.len());
            pieces.push_to(&mut text);
            answer = Some(Ok((text, row.revision)));
        })?;
        answer.transpose()
    }

    pub fn delete_task(&self, owner: Option<&str>, task_id: &str) -> Result<()> {
        check_owner(owner)?;
        check_identifier(task_id, "task_id")?;
        self.table.transact_claimed(claim(owner), task_id, None, &mut |stored, _| {
            fault::point("a2a_transition");
            Ok(transitions::delete(stored, owner))
        })?;
        self.table.hub().wake(task_id);
        Ok(())
    }

    pub fn list_tasks(&self, owner: Option<&str>, params: Option<&str>) -> Result<Text> {
        check_owner(owner)?;
        ListParams::parse(params, owner)?.page(&*self.table, owner)
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
        self.table.hub().open_queue_with(capacity, self.options.announce_saves)
    }

    pub fn read_events(&self, task_id: &str, params: Option<&str>) -> Result<Text> {
        check_identifier(task_id, "task_id")?;
        ReadParams::parse(params)?.page(&*self.table, task_id)
    }

    /// The task's revision, once it is not `seen_revision`. `timeout` `None` waits for ever.
    pub fn wait_task(&self, task_id: &str, seen_revision: u64, timeout: Option<Duration>) -> Result<u64> {
        check_identifier(task_id, "task_id")?;
        wait::wait_task(&*self.table, &self.closed, task_id, seen_revision, timeout)
    }
}

/// Push notification configs.
#[allow(missing_docs)] // Documented in ffi, function by function.
impl StateProvider {
    pub fn set_push_config(
        &self,
        owner: Option<&str>,
        task_id: &str,
        config_id: Option<&str>,
        config: &str,
    ) -> Result<()> {
        check_owner(owner)?;
        check_identifier(task_id, "task_id")?;
        let config_id = config_id.unwrap_or(task_id);
        check_identifier(config_id, "config_id")?;
        let config = push::parse_config(config, self.options.maximum_payload_bytes)?;
        let set = |configs: Option<&str>| push::set(configs, config_id, config).map(Some);
        self.change_push_configs(owner, task_id, &set)
    }

    pub fn list_push_configs(
        &self,
        owner: Option<&str>,
        task_id: &str,
        params: Option<&str>,
    ) -> Result<Text> {
        check_owner(owner)?;
        check_identifier(task_id, "task_id")?;
        let any_owner = push::parse_list_params(params, owner)?;
        let mut answer = Ok(None);
        let mut visit = |row: &A2aRow| {
            if !any_owner && row.owner.as_deref() != owner {
                return;
            }
            let is_damaged = row.is_damaged() || row.has_damaged_push_configs();
            answer = if is_damaged { Err(corrupt_row()) } else { Ok(row.push_configs.clone()) };
        };
        let is_there = if any_owner {
            self.table.read(task_id, &mut visit)?
        } else {
            self.table.read_claimed(claim(owner), task_id, &mut visit)?
        };
        let configs = match (is_there, any_owner) {
            (true, _) => answer?,
            (false, true) => self.waiting.get_any(task_id),
            (false, false) => self.waiting.get(task_id, owner),
        };
        Ok(push::render(configs.as_deref()))
    }

    pub fn delete_push_config(
        &self,
        owner: Option<&str>,
        task_id: &str,
        config_id: Option<&str>,
    ) -> Result<()> {
        check_owner(owner)?;
        check_identifier(task_id, "task_id")?;
        if let Some(config_id) = config_id {
            check_identifier(config_id, "config_id")?;
        }
        let delete = |configs: Option<&str>| push::delete(configs, config_id);
        match self.change_push_configs(owner, task_id, &delete) {
            Err(error) if error.reason() == Reason::TaskNotFound => Ok(()),
            done => done,
        }
    }

    /// Changes the configs of a task, or those that wait for it.
    fn change_push_configs(
        &self,
        owner: Option<&str>,
        task_id: &str,
        change: &ChangeConfigs<'_>,
    ) -> Result<()> {
        if self.change_stored_push_configs(owner, task_id, change)? {
            return Ok(());
        }
        self.waiting.change(task_id, owner, change)?;
        // The task may have come meanwhile.
        self.attach_push_configs(owner, task_id)
    }

    /// False when there is no such task.
    fn change_stored_push_configs(
        &self,
        owner: Option<&str>,
        task_id: &str,
        change: &ChangeConfigs<'_>,
    ) -> Result<bool> {
        let mut is_there = false;
        self.table.transact_claimed(claim(owner), task_id, None, &mut |stored, _| {
            fault::point("a2a_transition");
            let changed = transitions::change_push_configs(stored, owner, change)?;
            is_there = changed.is_some();
            Ok(changed.unwrap_or(Change::Keep))
        })?;
        Ok(is_there)
    }

    /// Stores the configs that waited for a task, if it is there. Whoever adds to those that wait looks for the task
    /// afterwards, and whoever makes a task looks for them afterwards: one of the two finds both.
    fn attach_push_configs(&self, owner: Option<&str>, task_id: &str) -> Result<()> {
        let Some(waiting) = self.waiting.get(task_id, owner) else { return Ok(()) };
        let merge = |configs: Option<&str>| push::merge(configs, &waiting).map(Some);
        let attached = self.change_stored_push_configs(owner, task_id, &merge);
        let waits_on = match &attached {
            Ok(is_stored) => !is_stored,
            // Those that cannot be stored now are stored with the next save.
            Err(error) => [Reason::SystemResource, Reason::StorageUnavailable].contains(&error.reason()),
        };
        if !waits_on {
            self.waiting.forget(task_id, owner, &waiting);
        }
        attached.map(|_| ())
    }
}

/// What becomes of the text of a task's configs.
type ChangeConfigs<'a> = dyn Fn(Option<&str>) -> Result<Option<Arc<str>>> + 'a;

/// What a task must say to be this owner's.
fn claim(owner: Option<&str>) -> Claim<'_> {
    Claim { endpoint: "", partition: owner }
}

fn check_owner(owner: Option<&str>) -> Result<()> {
    owner.map_or(Ok(()), |owner| check_name(owner, "owner"))
}
