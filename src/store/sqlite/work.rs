//! Queued work in a file.

#![forbid(unsafe_code)]

use std::sync::Arc;

use super::super::{
    AsOf, Decide, DecideClaim, DecideEach, Limits, Operation, TaskQuery, TaskRow, TaskTable, WorkCounters,
};
use super::table::SqlTable;
use crate::claimers::Claimers;
use crate::clock::Moment;
use crate::error::{Error, Reason, Result};

fn unsupported<T>() -> Result<T> {
    Err(Error::new(Reason::UnsupportedBackend, "this store keeps no queued work yet"))
}

impl TaskTable for SqlTable<TaskRow> {
    fn list(
        &self,
        query: &TaskQuery<'_>,
        as_of: AsOf,
        visit: &mut dyn FnMut(&TaskRow, u64),
        corrupt: &mut Vec<String>,
    ) -> Result<Option<u64>> {
        self.list_tasks(query, as_of, visit, corrupt)
    }

    fn create(
        &self,
        _operation: Option<Operation<'_>>,
        _id: &str,
        _limits: Limits,
        _decide: &mut Decide<'_, TaskRow>,
    ) -> Result<bool> {
        unsupported()
    }

    fn claim(&self, _queues: &[Arc<str>], _decide: &mut DecideClaim<'_>) -> Result<Option<TaskRow>> {
        unsupported()
    }

    fn transact_each(&self, _ids: &[&str], _decide: &mut DecideEach<'_>) -> Result<()> {
        unsupported()
    }

    fn lapsed(&self, _most: usize) -> Result<Vec<Arc<str>>> {
        Ok(Vec::new())
    }

    fn next_due(&self, _queue: &str) -> Option<Moment> {
        None
    }

    fn next_lapse(&self) -> Option<Moment> {
        None
    }

    fn claimers(&self) -> &Claimers {
        &self.claimers
    }

    fn work_counters(&self) -> &WorkCounters {
        &self.counters
    }
}
