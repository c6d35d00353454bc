//! The memory backend: every table is a sharded hash table of rows with an expiry index per shard and the
//! ordered indexes that its listings need. There is no thread and no timer: expired rows are removed as
//! later calls come by, a bounded few per call.

#![forbid(unsafe_code)]

mod creation_order;
mod owner_order;
mod partitions;
mod queues;
mod sessions;
mod shard;
mod stats;
mod table;
mod tasks;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use self::table::{Index, Indexed, MemoryTable};
use super::{A2aRow, A2aTable, Backend, SessionRow, SessionTable, TableNames, TaskRow, TaskTable};
use crate::clock::{Clock, Now, Wake};
use crate::error::Result;
use crate::events::Hub;
use crate::sync::Mutex;
use crate::text::Text;

/// All tables of one store in memory.
pub struct MemoryBackend {
    clock: Clock,
    tasks: Tables<TaskRow>,
    sessions: Tables<SessionRow>,
    a2a_tasks: Tables<A2aRow>,
}

type Tables<R> = Mutex<HashMap<Box<str>, Arc<MemoryTable<R>>>>;

impl MemoryBackend {
    /// An empty store on `clock`.
    pub fn new(clock: Clock) -> Self {
        Self { clock, tasks: Mutex::default(), sessions: Mutex::default(), a2a_tasks: Mutex::default() }
    }

    fn table<R: Indexed>(&self, tables: &Tables<R>, name: &str) -> Arc<MemoryTable<R>> {
        let mut tables = tables.lock();
        if let Some(table) = tables.get(name) {
            return Arc::clone(table);
        }
        let hub = Arc::new(Hub::default());
        let sleeper: Weak<Hub> = Arc::downgrade(&hub);
        self.clock.watch(sleeper as Weak<dyn Wake>);
        let table = Arc::new(MemoryTable::new(self.clock.clone(), hub));
        if let Some(sleeper) = Index::<R>::sleeper(&table.index) {
            self.clock.watch(Arc::downgrade(&sleeper));
        }
        tables.insert(name.into(), Arc::clone(&table));
        table
    }
}

fn all<R: Indexed>(tables: &Tables<R>) -> Vec<Arc<MemoryTable<R>>> {
    tables.lock().values().cloned().collect()
}

fn names<R: Indexed>(tables: &Tables<R>) -> Vec<Arc<str>> {
    tables.lock().keys().map(|name| Arc::from(&**name)).collect()
}

impl Backend for MemoryBackend {
    fn tasks(&self, name: &str) -> Result<Arc<dyn TaskTable>> {
        Ok(self.table(&self.tasks, name))
    }

    fn sessions(&self, name: &str) -> Result<Arc<dyn SessionTable>> {
        Ok(self.table(&self.sessions, name))
    }

    fn a2a_tasks(&self, name: &str) -> Result<Arc<dyn A2aTable>> {
        Ok(self.table(&self.a2a_tasks, name))
    }

    fn names(&self) -> Result<TableNames> {
        Ok(TableNames {
            tasks: names(&self.tasks),
            sessions: names(&self.sessions),
            a2a_tasks: names(&self.a2a_tasks),
        })
    }

    fn now(&self) -> Result<Now> {
        Ok(self.clock.now())
    }

    fn stats(&self) -> Result<Text> {
        let mut managers: Vec<(Arc<str>, _)> =
            self.tasks.lock().iter().map(|(name, table)| (Arc::from(&**name), Arc::clone(table))).collect();
        managers.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(stats::render(&managers, &all(&self.sessions), &all(&self.a2a_tasks)))
    }

    fn check(&self) -> Result<Text> {
        Ok(Text::from("{\"backend\":\"memory\",\"ok\":true,\"problems\":[],\"unreadable\":[]}"))
    }

    fn requires_task_limit(&self) -> bool {
        true
    }
}
