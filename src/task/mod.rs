//! MCP tasks: the seed's task manager over a table of tasks. The rules are pure functions over rows; the
//! [`TaskManager`] checks arguments, runs a rule inside the store's atomic step, renders, and announces.

#![forbid(unsafe_code)]

mod arguments;
mod capabilities;
#[cfg(test)]
mod fixtures;
mod id;
mod input;
mod lapse;
mod lease;
mod list;
mod options;
mod queue;
mod render;
mod responses;
mod rpc;
mod steps;
mod subscribers;
#[cfg(test)]
mod tests;
mod transitions;
mod wait;
mod work_arguments;

use std::sync::{Arc, Weak};
use std::time::Duration;

use self::arguments::{Caller, RenderOptions};
use self::capabilities::{ClientCapabilities, TASKS_REQUIRED, Undeliverable, check_delivery};
use self::id::TaskId;
use self::options::{ManagerOptions, MarkingOptions, end_options};
use self::render::Answer;
use self::steps::Lapses;
use self::subscribers::Subscribers;
pub use self::subscribers::{Subscriber, Subscription};
use self::transitions::{Ending, not_found};
use crate::clock::Wake;
use crate::error::Result;
use crate::events::{EventKind, EventQueue};
use crate::fault;
use crate::json::DEFAULT_MAXIMUM_PAYLOAD_BYTES;
use crate::options::check_identifier;
use crate::store::{Change, Store, TaskRow, TaskTable};
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
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
pub struct Record {
    row: TaskRow,
    answer: Answer,
    /// Where a large one goes, reserved before the change was made.
    room: Option<Text>,
}

impl Record {
    fn new(row: TaskRow, answer: Answer) -> Self {
        Self { row, answer, room: None }
    }

    /// The JSON text.
    pub fn into_text(self) -> Text {
        render::answer(&self.row, self.answer, self.room)
    }
}

/// A task manager. Every method may be called from any number of threads; names, arguments and outcomes are
/// those of `taskhold_manager_*` in the header.
pub struct TaskManager {
    table: Arc<dyn TaskTable>,
    options: ManagerOptions,
    subscribers: Arc<Subscribers>,
    lapses: Arc<Lapses>,
    closed: AtomicBool,
}

#[allow(missing_docs)] // Documented in ffi, function by function.
impl TaskManager {
    pub fn open(store: &Store, options: Option<&str>) -> Result<Self> {
        let backend = store.backend();
        let options = ManagerOptions::parse(options, backend.requires_task_limit())?;
        let table = backend.tasks(&options.name)?;
        if options.maximum_retained_tasks_per_partition.is_some() {
            table.count_partitions()?;
        }
        Ok(Self::over(table, options))
    }

    fn over(table: Arc<dyn TaskTable>, options: ManagerOptions) -> Self {
        let subscribers: Arc<Subscribers> = Arc::default();
        let lapses = Arc::new(Lapses {
            table: Arc::clone(&table),
            subscribers: Arc::clone(&subscribers),
            unreadable: AtomicUsize::new(0),
        });
        Self { table, options, subscribers, lapses, closed: AtomicBool::new(false) }
    }

    /// Wakes everyone who waits through this manager with `CLOSED`.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.table.hub().wake_all();
        self.table.claimers().call_all();
    }

    pub fn options(&self) -> Text {
        self.options.to_json()
    }

    pub fn create_task(&self, creation: &str) -> Result<Text> {
        let task = arguments::parse_creation(creation, self.options.maximum_payload_bytes)?;
        if task.work.is_some() {
            return Ok(self.create_work(&task)?.into_text());
        }
        loop {
            let id = TaskId::random()?;
            let id = id.as_str();
            let mut record = None;
            self.table.create_within(id, self.options.limits(), &mut |taken, now| {
                fault::point("task_transition");
                record = None;
                if taken.is_some() {
                    return Ok(Change::Keep);
                }
                let row = transitions::create(id, &task, &self.options, now)?;
                let room = render::reserve_record(&row)?;
                record = Some(Record { row: row.clone(), answer: Answer::default(), room });
                Ok(Change::Put(row))
            })?;
            if let Some(record) = record {
                self.announce_changed(id);
                return Ok(record.into_text());
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
        let MarkingOptions { preconditions, withdraw, checkpoint } =
            MarkingOptions::parse(options, self.options.maximum_payload_bytes)?;
        self.change(task_id, |row, now| {
            let (message, withdraw) = (message.as_ref(), withdraw.as_deref());
            transitions::mark_working(row, message, withdraw, checkpoint.as_ref(), preconditions, now)
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
        let (preconditions, asking) = options::asking_options(options, self.options.maximum_payload_bytes)?;
        self.change(task_id, |row, now| {
            transitions::request_input(row, &requests, message.as_ref(), &asking, preconditions, now)
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
        self.end(task_id, Ending::Completed(result), status_message, end_options(options, false)?)
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
        self.end(task_id, Ending::Failed(failure), status_message, end_options(options, true)?)
    }

    pub fn cancel_task(
        &self,
        task_id: &str,
        status_message: Option<&str>,
        options: Option<&str>,
    ) -> Result<Record> {
        check_identifier(task_id, "task_id")?;
        self.end(task_id, Ending::Cancelled, status_message, end_options(options, true)?)
    }

    pub fn take_task_input_responses(&self, task_id: &str, options: Option<&str>) -> Result<Text> {
        check_identifier(task_id, "task_id")?;
        let (preconditions, taking) = options::taking_options(options, self.options.maximum_payload_bytes)?;
        let mut responses = Text::with_capacity(0);
        self.transact(task_id, None, |row, _| {
            let (change, taken) = transitions::take_responses(row, &taking, preconditions)?;
            responses = taken.check()?;
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
        let waited = wait::wait_task(&*self.table, &self.closed, task_id, seen_revision, timeout);
        self.store_lapses();
        waited
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
        let preconditions = options::update_options(options)?;
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
        let queue = self.table.hub().open_queue(capacity)?;
        let keeper: Weak<Lapses> = Arc::downgrade(&self.lapses);
        queue.set_keeper(keeper);
        Ok(queue)
    }
}
