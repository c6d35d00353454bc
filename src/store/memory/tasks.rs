//! MCP tasks in memory: their indexes, the operators' listing, and taking them out of their queues.

#![forbid(unsafe_code)]

use std::sync::Arc;

use super::super::{
    AsOf, Change, Decide, DecideClaim, DecideEach, Limits, Operation, QueueFigures, Row as _, Table as _,
    TaskQuery, TaskRow, TaskTable, WorkCounters,
};
use super::creation_order::{CreationOrder, Page};
use super::queues::Queues;
use super::shard::{Cell, Locator, is_alive};
use super::table::{CLASSES, Index, Indexed, Inserted, MemoryTable};
use crate::claimers::Claimers;
use crate::clock::{Moment, Now, Wake};
use crate::error::Result;
use crate::sync::atomic::Ordering;

/// The indexes of a table of tasks, and who waits for them.
#[derive(Default)]
pub(super) struct TaskIndex {
    creation: CreationOrder,
    pub(super) queues: Queues,
    pub(super) claimers: Arc<Claimers>,
    pub(super) counters: WorkCounters,
}

impl Index<TaskRow> for TaskIndex {
    fn reserve(&self, locator: Locator, row: &TaskRow) -> bool {
        row.work.is_none() || self.queues.reserve(locator, row)
    }

    fn unreserve(&self, row: &TaskRow) {
        self.queues.forget_operation(row);
    }

    fn inserted(&self, locator: Locator, new: &Arc<Cell<TaskRow>>) {
        self.creation.insert(locator);
        if new.row.work.is_some() {
            self.queues.place(locator, None, Some(&new.row));
        }
    }

    fn replaced(&self, locator: Locator, old: &Arc<Cell<TaskRow>>, new: &Arc<Cell<TaskRow>>) {
        if new.row.work.is_some() {
            self.queues.place(locator, Some(&old.row), Some(&new.row));
        }
    }

    fn removed(&self, locator: Locator, old: &Arc<Cell<TaskRow>>) {
        self.creation.remove(locator);
        if old.row.work.is_some() {
            self.queues.place(locator, Some(&old.row), None);
            self.queues.forget_operation(&old.row);
        }
    }

    fn expired(&self, row: &TaskRow) {
        if row.work.is_some() && !row.status.is_terminal() {
            self.counters.expired_unfinished.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn sleeper(&self) -> Option<Arc<dyn Wake>> {
        Some(Arc::clone(&self.claimers) as _)
    }
}

impl Indexed for TaskRow {
    type Index = TaskIndex;
    fn class(&self) -> usize {
        self.status as usize
    }

    fn text(&self) -> &Arc<str> {
        self.texts.as_shared()
    }

    fn bytes(&self) -> usize {
        let input = self.input.as_ref().map_or(0, |input| {
            let members = input.outstanding.iter().chain(&input.responses);
            members.map(|member| member.key.len() + member.value.len()).sum::<usize>()
                + input.used_keys.iter().map(|key| key.len()).sum::<usize>()
        });
        self.texts.bytes()
            + self.status_message.as_ref().map_or(0, |text| text.len())
            + input
            + self.work.as_ref().map_or(0, |work| work.bytes())
    }
}

fn matches(row: &TaskRow, query: &TaskQuery<'_>, now: Now) -> bool {
    query.status.is_none_or(|status| row.status == status)
        && query.endpoint.is_none_or(|endpoint| row.texts.endpoint() == endpoint)
        && query.partition.is_none_or(|partition| row.texts.partition().as_deref() == partition)
        && query.work_state.is_none_or(|state| row.work_state(now) == Some(state))
        && query.queue.is_none_or(|queue| {
            row.work.as_ref().and_then(|work| work.queue()).is_some_and(|name| **name == *queue)
        })
        && query.worker.is_none_or(|worker| {
            row.work.as_ref().and_then(|work| work.held(now)).is_some_and(|lease| *lease.worker == *worker)
        })
}

impl TaskTable for MemoryTable<TaskRow> {
    fn list(
        &self,
        query: &TaskQuery<'_>,
        as_of: AsOf,
        visit: &mut dyn FnMut(&TaskRow, u64),
        _corrupt: &mut Vec<String>,
    ) -> Result<Option<u64>> {
        let now = self.now()?;
        let page = Page { after: query.after, limit: query.limit, tick_ns: now.tick_ns };
        Ok(self.list_in_order(&self.index.creation, page, &mut |row, sequence, is_shown| {
            let row = as_of(row, now);
            let matched = matches(&row, query, now);
            if matched && is_shown {
                visit(&row, sequence);
            }
            matched
        }))
    }

    fn create(
        &self,
        operation: Option<Operation<'_>>,
        id: &str,
        limits: Limits,
        decide: &mut Decide<'_, TaskRow>,
    ) -> Result<bool> {
        loop {
            let now = self.now()?;
            if let Some(locator) = operation.and_then(|operation| self.index.queues.of_operation(&operation))
            {
                // Who is about to store it has the shard locked, so that it is there or gone after that.
                if let Some(decided) =
                    self.look_at(locator, now.tick_ns, |row| decide(Some(row), now).map(|_| true))
                {
                    return decided;
                }
                self.retire_at(locator, now.tick_ns);
                continue;
            }
            let (Change::Put(row) | Change::PutUnannounced(row)) = decide(None, now)? else {
                return Ok(true);
            };
            debug_assert_eq!(row.id(), id);
            match self.insert_reserved(row, limits)? {
                Inserted::Done => return Ok(true),
                Inserted::IdTaken => return Ok(false),
                Inserted::Reserved => {}
            }
        }
    }

    fn claim(&self, queues: &[Arc<str>], decide: &mut DecideClaim<'_>) -> Result<Option<TaskRow>> {
        let now = self.now()?;
        for queue in queues {
            let mut after = None;
            while let Some((place, locator)) = self.index.queues.first_due(queue, after, now) {
                let mut is_expired = false;
                let claimed = self.change_at(locator, &mut |row| {
                    is_expired = !is_alive(row, now.tick_ns);
                    if is_expired { None } else { decide(row, now) }
                });
                if claimed.is_some() {
                    return Ok(claimed);
                }
                if is_expired {
                    self.retire_at(locator, now.tick_ns);
                }
                // Somebody else was faster. What has moved to an earlier place since calls a claimer by itself.
                after = Some(place);
            }
        }
        Ok(None)
    }

    fn transact_each(&self, ids: &[&str], decide: &mut DecideEach<'_>) -> Result<()> {
        for (place, id) in ids.iter().enumerate() {
            self.transact(id, None, &mut |row, now| Ok(decide(place, row, now)))?;
        }
        Ok(())
    }

    fn lapsed(&self, most: usize) -> Result<Vec<Arc<str>>> {
        let ended = self.index.queues.ended(most, self.clock());
        let id = |locator| self.look_at(locator, i64::MIN, |row| Arc::from(row.id()));
        Ok(ended.into_iter().filter_map(id).collect())
    }

    fn next_due(&self, queue: &str) -> Option<Moment> {
        self.index.queues.next_due(queue)
    }

    fn next_lapse(&self) -> Option<Moment> {
        self.index.queues.next_end()
    }

    fn claimers(&self) -> &Claimers {
        &self.index.claimers
    }

    fn work_counters(&self) -> &WorkCounters {
        &self.index.counters
    }
}

impl MemoryTable<TaskRow> {
    /// How many tasks of each queue stand where.
    pub(super) fn queue_figures(&self) -> Vec<(Arc<str>, QueueFigures)> {
        self.index.queues.figures(self.clock().now())
    }

    /// Counts tasks that lapses have ended, which is not stored yet, as what they are instead of what they were.
    pub(super) fn note_lapses(&self, classes: &mut [i64; CLASSES]) {
        let now = self.clock().now();
        for locator in self.index.queues.ended(usize::MAX, self.clock()) {
            self.look_at(locator, now.tick_ns, |row| {
                if row.ends_at().is_some_and(|ends| ends.has_come(now)) {
                    classes[row.class()] -= 1;
                    classes[row.ends_as() as usize] += 1;
                }
            });
        }
    }
}
