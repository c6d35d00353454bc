//! A2A tasks: the seed's task state provider, and the task store that it answers from.

#![forbid(unsafe_code)]

use std::sync::Arc;

use crate::error::Result;
use crate::events::EventQueue;
use crate::store::Store;
use crate::text::Text;

/// Where a task stands in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// Unknown, deleted or no longer retained.
    Absent = 0,
    /// Not final.
    Active = 1,
    /// Final, within the grace period.
    Grace = 2,
    /// Final, the grace period is over.
    Finalized = 3,
}

/// A state provider. Every method may be called from any number of threads; names, arguments and outcomes are
/// those of `taskhold_state_provider_*` in the header.
pub struct StateProvider {}

#[allow(missing_docs, unused_variables)] // Documented in ffi, function by function.
impl StateProvider {
    pub fn open(store: &Store, options: Option<&str>) -> Result<Self> {
        todo!()
    }
    pub fn options(&self) -> Text {
        todo!()
    }
    /// The revision that this save made.
    pub fn save_task(&self, owner: Option<&str>, task: &str, save_options: Option<&str>) -> Result<u64> {
        todo!()
    }
    /// The task and its revision.
    pub fn get_task(
        &self,
        owner: Option<&str>,
        task_id: &str,
        params: Option<&str>,
    ) -> Result<Option<(Text, u64)>> {
        todo!()
    }
    pub fn delete_task(&self, owner: Option<&str>, task_id: &str) -> Result<()> {
        todo!()
    }
    pub fn list_tasks(&self, owner: Option<&str>, params: Option<&str>) -> Result<Text> {
        todo!()
    }
    pub fn is_task_active(&self, task_id: &str) -> Result<bool> {
        todo!()
    }
    pub fn is_task_finalized(&self, task_id: &str) -> Result<bool> {
        todo!()
    }
    pub fn task_liveness(&self, task_id: &str) -> Result<Liveness> {
        todo!()
    }
    pub fn open_events(&self, capacity: u32) -> Result<Arc<EventQueue>> {
        todo!()
    }
}
