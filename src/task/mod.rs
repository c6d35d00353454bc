//! MCP tasks: the seed's task manager over a table of tasks. The rules are pure functions over rows; the
//! [`TaskManager`] checks arguments, runs a rule inside the store's atomic step, renders, and announces.

#![forbid(unsafe_code)]

use std::sync::Arc;
use std::time::Duration;

use crate::error::Result;
use crate::events::EventQueue;
use crate::store::Store;
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

/// Is told the ids of tasks that changed.
pub trait Subscriber: Send + Sync {
    /// The task `task_id` changed through this manager. May call anything.
    fn task_changed(&self, task_id: &str);
}

/// A subscriber's place in a manager's list.
pub struct Subscription {}

impl Subscription {
    /// Ends the subscription: no call of the subscriber begins after this. Lets go of the subscriber.
    pub fn close(&self) {
        todo!()
    }
}

/// A task manager. Every method may be called from any number of threads; names, arguments and outcomes are
/// those of `taskhold_manager_*` in the header.
pub struct TaskManager {}

#[allow(missing_docs, unused_variables)] // Documented in ffi, function by function.
impl TaskManager {
    pub fn open(store: &Store, options: Option<&str>) -> Result<Self> {
        todo!()
    }
    /// Wakes everyone who waits through this manager with `CLOSED`.
    pub fn close(&self) {
        todo!()
    }
    pub fn options(&self) -> Text {
        todo!()
    }
    pub fn create_task(&self, creation: &str) -> Result<Text> {
        todo!()
    }
    pub fn find_task(&self, task_id: &str) -> Result<Option<Text>> {
        todo!()
    }
    pub fn mark_task_working(
        &self,
        task_id: &str,
        status_message: Option<&str>,
        options: Option<&str>,
    ) -> Result<Text> {
        todo!()
    }
    pub fn request_task_input(
        &self,
        task_id: &str,
        input_requests: &str,
        status_message: Option<&str>,
        options: Option<&str>,
    ) -> Result<Text> {
        todo!()
    }
    pub fn complete_task(
        &self,
        task_id: &str,
        result: &str,
        status_message: Option<&str>,
        options: Option<&str>,
    ) -> Result<Text> {
        todo!()
    }
    pub fn fail_task(
        &self,
        task_id: &str,
        failure: &str,
        status_message: Option<&str>,
        options: Option<&str>,
    ) -> Result<Text> {
        todo!()
    }
    pub fn cancel_task(
        &self,
        task_id: &str,
        status_message: Option<&str>,
        options: Option<&str>,
    ) -> Result<Text> {
        todo!()
    }
    pub fn take_task_input_responses(&self, task_id: &str, options: Option<&str>) -> Result<Text> {
        todo!()
    }
    pub fn is_task_cancelation_requested(&self, task_id: &str) -> Result<bool> {
        todo!()
    }
    /// `timeout` `None` waits for ever.
    pub fn wait_task(&self, task_id: &str, seen_revision: u64, timeout: Option<Duration>) -> Result<Text> {
        todo!()
    }
    pub fn list_tasks(&self, params: Option<&str>) -> Result<Text> {
        todo!()
    }
    pub fn find_authorized_task(
        &self,
        endpoint: &str,
        partition: Option<&str>,
        task_id: &str,
    ) -> Result<Option<Text>> {
        todo!()
    }
    pub fn update_task(
        &self,
        endpoint: &str,
        partition: Option<&str>,
        task_id: &str,
        input_responses: &str,
        options: Option<&str>,
    ) -> Result<Text> {
        todo!()
    }
    pub fn request_task_cancelation(
        &self,
        endpoint: &str,
        partition: Option<&str>,
        task_id: &str,
    ) -> Result<()> {
        todo!()
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
        todo!()
    }
    /// `None` for a notification. `request` may be invalid UTF-8: then the response is -32700.
    pub fn handle_request(
        &self,
        endpoint: &str,
        partition: Option<&str>,
        client_capabilities: Option<&str>,
        request: &[u8],
    ) -> Result<Option<Text>> {
        todo!()
    }
    pub fn publish_task_changed(&self, task_id: &str) -> Result<()> {
        todo!()
    }
    pub fn subscribe(&self, subscriber: Arc<dyn Subscriber>) -> Result<Subscription> {
        todo!()
    }
    pub fn open_events(&self, capacity: u32) -> Result<Arc<EventQueue>> {
        todo!()
    }
}
