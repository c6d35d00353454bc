//! The memory backend.

#![forbid(unsafe_code)]

use std::sync::Arc;

use super::{A2aTable, Backend, SessionRow, Table, TaskTable};
use crate::clock::Clock;
use crate::error::Result;
use crate::text::Text;

/// Opens the store that `url` names.
pub fn open(_url: Option<&str>, _options: Option<&str>, _clock: Clock) -> Result<Arc<dyn Backend>> {
    todo!()
}

/// All tables of one store in memory.
pub struct MemoryBackend {}

impl MemoryBackend {
    /// An empty store on `clock`.
    pub fn new(_clock: Clock) -> Self {
        Self {}
    }
}

impl Backend for MemoryBackend {
    fn tasks(&self, _name: &str) -> Result<Arc<dyn TaskTable>> {
        todo!()
    }
    fn sessions(&self, _name: &str) -> Result<Arc<dyn Table<SessionRow>>> {
        todo!()
    }
    fn a2a_tasks(&self, _name: &str) -> Result<Arc<dyn A2aTable>> {
        todo!()
    }
    fn stats(&self) -> Result<Text> {
        todo!()
    }
    fn requires_task_limit(&self) -> bool {
        true
    }
}
