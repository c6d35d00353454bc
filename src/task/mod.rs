//! MCP tasks: the seed's task manager over a table of tasks. The rules are pure functions over rows; the
//! [`TaskManager`] checks arguments, runs a rule inside the store's atomic step, renders, and announces.

#![forbid(unsafe_code)]

mod arguments;
mod capabilities;
#[cfg(test)]
mod fixtures;
mod id;
mod input;
mod list;
mod options;
mod render;
mod responses;
mod rpc;
mod subscribers;
#[cfg(test)]
mod tests;
mod transitions;
mod wait;

use std::sync::Arc;
use std::time::Duration;

use self::arguments::{Caller, RenderOptions};
use self::capabilities::{ClientCapabilities, TASKS_REQUIRED, Undeliverable, check_delivery};
use self::id::TaskId;
pub(crate) use self::list::MAXIMUM_PAGE_SIZE;
use self::options::ManagerOptions;
use self::responses::{Judgement, UpdateOutcome};
use self::subscribers::Subscribers;
pub use self::subscribers::{Subscriber, Subscription};
use self::transitions::{Ending, Preconditions, not_found};
use crate::clock::{Now, Wake};
use crate::error::Result;
use crate::events::{EventKind, EventQueue};
use crate::fault;
use crate::json::{DEFAULT_MAXIMUM_PAYLOAD_BYTES, Value};
use crate::options::check_identifier;
use crate::store::{Change, Store, TaskRow, TaskTable};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::text::Text;

/// Which wire shape of a task is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rendering {
    /// The flat `CreateTaskResult`.
    CreateResult,
    /// The result of `tasks/get`.
    GetResult,
    /// The whole `notifications/tasks` message.
    Notification,
}

/// A task as a transition left it. It is rendered when the text is wanted, with no lock held.
#[derive(Debug)]
pub struct Record(TaskRow);

impl Record {
    /// The JSON text.
    pub fn to_text(&self) -> Text {
        render::record(&self.0)
    }
}

/// A task manager. Every method may be called from any number of threads; names, arguments and outcomes are
/// those of `taskhold_manager_*` in the header.
pub struct TaskManager {
    table: Arc<dyn TaskTable>,
    options: ManagerOptions,
    subscribers: Arc<Subscribers>,
    closed: AtomicBool,
}

#[allow(missing_docs)] // Documented in ffi, function by function.
impl TaskManager {
    pub fn open(store: &Store, options: Option<&str>) -> Result<Self> {
        let backend = store.backend();
        let options = ManagerOptions::parse(options, backend.requires_task_limit())?;
        let table = backend.tasks(&options.name)?;
        Ok(Self { table, options, subscribers: Arc::default(), closed: AtomicBool::new(false) })
    }

    /// Wakes everyone who waits through this manager with `CLOSED`.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.table.hub().wake_all();
    }

    pub fn options(&self) -> Text {
        self.options.to_json()
    }

    pub fn create_task(&self, creation: &str) -> Result<Text> {
        let creation = arguments::parse_creation(creation, self.options.maximum_payload_bytes)?;
        loop {
            let id = TaskId::random()?;
            let id = id.as_str();
            let mut record = None;
            self.table.transact(id, self.options.maximum_retained_tasks, &mut |taken, now| {
                fault::point("task_transition");
                record = None;
                if taken.is_some() {
                    return Ok(Change::Keep);
                }
                let row = transitions::create(id, &creation, &self.options, now)?;
                record = Some(Record(row.clone()));
                Ok(Change::Put(row))
            })?;
            if let Some(record) = record {
                self.announce_changed(id);
                return Ok(record.to_text());
            }
        }
    }

    pub fn find_task(&self, task_id: &str) -> Result<Option<Text>> {
        let record = self.read(task_id, None, render::record)?;
        if record.is_none() {
            // What is found under an id has a well-formed one.
            check_identifier(task_id, "task_id")?;
        }
        Ok(record)
    }

    pub fn mark_task_working(
        &self,
        task_id: &str,
        status_message: Option<&str>,
        options: Option<&str>,
    ) -> Result<Record> {
        check_identifier(task_id, "task_id")?;
        let message = self.status_message(status_message)?;
        let (preconditions, withdraw) = options::mark_working_options(options)?;
        self.change(task_id, &mut |row, now| {
            transitions::mark_working(row, message.as_ref(), withdraw.as_deref(), preconditions, now)
        })
    }

    pub fn request_task_input(
        &self,
        task_id: &str,
        input_requests: &str,
        status_message: Option<&str>,
        options: Option<&str>,
    ) -> Result<Record> {
        check_identifier(task_id, "task_id")?;
        let requests = input::parse_requests(input_requests, self.options.maximum_payload_bytes)?;
        let message = self.status_message(status_message)?;
        let preconditions = options::transition_options(options)?;
        self.change(task_id, &mut |row, now| {
            transitions::request_input(row, &requests, message.as_ref(), preconditions, now)
        })
    }

    pub fn complete_task(
        &self,
        task_id: &str,
        result: &str,
        status_message: Option<&str>,
        options: Option<&str>,
    ) -> Result<Record> {
        check_identifier(task_id, "task_id")?;
        let result = arguments::parse_result(result, self.options.maximum_payload_bytes)?;
        self.end(task_id, Ending::Completed(result), status_message, options)
    }

    pub fn fail_task(
        &self,
        task_id: &str,
        failure: &str,
        status_message: Option<&str>,
        options: Option<&str>,
    ) -> Result<Record> {
        check_identifier(task_id, "task_id")?;
        let failure = arguments::parse_failure(failure, self.options.maximum_payload_bytes)?;
        self.end(task_id, Ending::Failed(failure), status_message, options)
    }

    pub fn cancel_task(
        &self,
        task_id: &str,
        status_message: Option<&str>,
        options: Option<&str>,
    ) -> Result<Record> {
        check_identifier(task_id, "task_id")?;
        self.end(task_id, Ending::Cancelled, status_message, options)
    }

    pub fn take_task_input_responses(&self, task_id: &str, options: Option<&str>) -> Result<Text> {
        check_identifier(task_id, "task_id")?;
        let preconditions = options::transition_options(options)?;
        let mut responses = Text::with_capacity(0);
        self.table.transact(task_id, None, &mut |row, _| {
            fault::point("task_transition");
            let (change, taken) = transitions::take_responses(row.ok_or_else(not_found)?, preconditions)?;
            responses = taken;
            Ok(change)
        })?;
        Ok(responses)
    }

    pub fn is_task_cancelation_requested(&self, task_id: &str) -> Result<bool> {
        check_identifier(task_id, "task_id")?;
        self.read(task_id, None, |row| row.cancelation_requested)?.ok_or_else(not_found)
    }

    /// `timeout` `None` waits for ever.
    pub fn wait_task(&self, task_id: &str, seen_revision: u64, timeout: Option<Duration>) -> Result<Text> {
        check_identifier(task_id, "task_id")?;
        wait::wait_task(&*self.table, &self.closed, task_id, seen_revision, timeout)
    }

    pub fn list_tasks(&self, params: Option<&str>) -> Result<Text> {
        list::list_tasks(&*self.table, &self.options.name, params)
    }

    pub fn find_authorized_task(
        &self,
        endpoint: &str,
        partition: Option<&str>,
        task_id: &str,
    ) -> Result<Option<Text>> {
        let caller = Caller::new(endpoint, partition)?;
        check_identifier(task_id, "task_id")?;
        self.read(task_id, Some(caller), render::record)
    }

    pub fn update_task(
        &self,
        endpoint: &str,
        partition: Option<&str>,
        task_id: &str,
        input_responses: &str,
        options: Option<&str>,
    ) -> Result<Text> {
        let caller = Caller::new(endpoint, partition)?;
        check_identifier(task_id, "task_id")?;
        let responses = input::parse_responses(input_responses, self.options.maximum_payload_bytes)?;
        let preconditions = options::transition_options(options)?;
        Ok(self.accept_responses(caller, task_id, responses, preconditions)?.to_json())
    }

    pub fn request_task_cancelation(
        &self,
        endpoint: &str,
        partition: Option<&str>,
        task_id: &str,
    ) -> Result<()> {
        let caller = Caller::new(endpoint, partition)?;
        check_identifier(task_id, "task_id")?;
        self.note_cancelation_request(caller, task_id)
    }

    /// The text and the revision it shows.
    pub fn render_task(
        &self,
        endpoint: &str,
        partition: Option<&str>,
        task_id: &str,
        rendering: Rendering,
        options: Option<&str>,
    ) -> Result<(Text, u64)> {
        let caller = Caller::new(endpoint, partition)?;
        check_identifier(task_id, "task_id")?;
        let RenderOptions { capabilities, subscription_id } = RenderOptions::parse(options)?;
        if capabilities.is_some_and(|capabilities| !capabilities.has_tasks()) {
            return Err(Undeliverable::Missing(TASKS_REQUIRED.to_owned()).into_error());
        }
        self.read(task_id, Some(caller), |row| {
            if rendering != Rendering::CreateResult {
                check_delivery(row, capabilities).map_err(Undeliverable::into_error)?;
            }
            Ok((render::rendering(row, rendering, subscription_id), row.revision))
        })?
        .ok_or_else(not_found)?
    }

    /// `None` for a notification. `request` may be invalid UTF-8: then the response is -32700.
    pub fn handle_request(
        &self,
        endpoint: &str,
        partition: Option<&str>,
        client_capabilities: Option<&str>,
        request: &[u8],
    ) -> Result<Option<Text>> {
        let caller = Caller::new(endpoint, partition)?;
        let capabilities = client_capabilities
            .map(|text| ClientCapabilities::parse(text, DEFAULT_MAXIMUM_PAYLOAD_BYTES))
            .transpose()?;
        rpc::handle_request(self, caller, capabilities, request)
    }

    pub fn publish_task_changed(&self, task_id: &str) -> Result<()> {
        check_identifier(task_id, "task_id")?;
        self.table.hub().publish(EventKind::Changed, task_id)?;
        self.subscribers.tell(task_id);
        Ok(())
    }

    pub fn subscribe(&self, subscriber: Arc<dyn Subscriber>) -> Subscription {
        self.subscribers.add(subscriber)
    }

    pub fn open_events(&self, capacity: u32) -> Result<Arc<EventQueue>> {
        self.table.hub().open_queue(capacity)
    }
}

/// The steps that the calls share.
impl TaskManager {
    /// What `look` makes of the task, if it is there and, with a caller, is the caller's.
    fn read<T>(
        &self,
        task_id: &str,
        caller: Option<Caller<'_>>,
        look: impl Fn(&TaskRow) -> T,
    ) -> Result<Option<T>> {
        let mut seen = None;
        let mut visit = |row: &TaskRow| {
            if caller.is_none_or(|caller| caller.owns(row)) {
                seen = Some(look(row));
            }
        };
        match caller {
            Some(caller) => self.table.read_claimed(caller.claim(), task_id, &mut visit)?,
            None => self.table.read(task_id, &mut visit)?,
        };
        Ok(seen)
    }

    /// Lets `decide` change the task, and gives the record that came of it.
    fn change(
        &self,
        task_id: &str,
        decide: &mut dyn FnMut(&TaskRow, Now) -> Result<Change<TaskRow>>,
    ) -> Result<Record> {
        let mut record = None;
        let mut has_changed = false;
        self.table.transact(task_id, None, &mut |row, now| {
            fault::point("task_transition");
            let row = row.ok_or_else(not_found)?;
            let change = decide(row, now)?;
            let next = if let Change::Put(next) = &change { Some(next) } else { None };
            has_changed = next.is_some();
            record = Some(Record(next.unwrap_or(row).clone()));
            Ok(change)
        })?;
        if has_changed {
            self.announce_changed(task_id);
        }
        record.ok_or_else(not_found)
    }

    fn end(
        &self,
        task_id: &str,
        ending: Ending<'_>,
        status_message: Option<&str>,
        options: Option<&str>,
    ) -> Result<Record> {
        let message = self.status_message(status_message)?;
        let preconditions = options::transition_options(options)?;
        self.change(task_id, &mut |row, now| {
            transitions::end(row, ending, message.as_ref(), preconditions, now)
        })
    }

    /// Hands a client's responses to its task. Should its requests change after the responses were judged, these
    /// are judged again within the store's step.
    fn accept_responses<'a>(
        &self,
        caller: Caller<'_>,
        task_id: &str,
        responses: Value<'a>,
        preconditions: Preconditions,
    ) -> Result<UpdateOutcome<'a>> {
        let input = self.read(task_id, Some(caller), |row| row.input.clone())?.ok_or_else(not_found)?;
        let mut judgement = Judgement::of(responses, input);
        self.table.transact_claimed(caller.claim(), task_id, None, &mut |row, now| {
            fault::point("task_transition");
            let row = row.filter(|row| caller.owns(row)).ok_or_else(not_found)?;
            if !judgement.is_for(row.input.as_ref()) {
                judgement = Judgement::of(responses, row.input.clone());
            }
            transitions::update(row, &judgement, preconditions, now)
        })?;
        if !judgement.outcome.accepted.is_empty() {
            self.announce_changed(task_id);
        }
        Ok(judgement.outcome)
    }

    /// Sets a client's wish to cancel on its task.
    fn note_cancelation_request(&self, caller: Caller<'_>, task_id: &str) -> Result<()> {
        let mut has_changed = false;
        self.table.transact_claimed(caller.claim(), task_id, None, &mut |row, _| {
            fault::point("task_transition");
            let row = row.filter(|row| caller.owns(row)).ok_or_else(not_found)?;
            let change = transitions::request_cancelation(row);
            has_changed = matches!(change, Change::Put(_));
            Ok(change)
        })?;
        if has_changed {
            self.table.hub().announce(EventKind::CancelationRequested, task_id);
        }
        Ok(())
    }

    fn status_message(&self, text: Option<&str>) -> Result<Option<Arc<str>>> {
        arguments::status_message(text, self.options.maximum_payload_bytes)
    }

    fn announce_changed(&self, task_id: &str) {
        self.table.hub().announce(EventKind::Changed, task_id);
        self.subscribers.tell(task_id);
    }
}
