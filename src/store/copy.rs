//! Copies all records of a store into an empty one, which may be of another backend, and then compares the two. Rows go
//! over as they are, with their ids, order, revisions, leases and logs. Ticks count from another beginning in each
//! store, so that instants go over as wall time, by the millisecond. Pins belong to open handles and stay behind.

#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::sync::Arc;

use super::event_log::LogTotals;
use super::{
    A2aRow, A2aTable, Appended, Backend, Change, KeptEvents, Lease, Limits, LogLimits, Operation, Row,
    SessionRow, Store, Table, TaskQuery, TaskRow, TaskTable, Work, corrupt_row,
};
use crate::clock::{Moment, NANOS_PER_MILLI, Now};
use crate::error::{Error, Reason, Result, invalid};
use crate::json;
use crate::options::Object;
use crate::text::Text;

/// Records, ids and events that are asked for at once.
const PER_PAGE: usize = 1000;
/// By how much two readings of when the last pin of a session lapsed may differ.
const LAPSE_MS: i64 = 1000;

impl Store {
    /// Copies all records to a store that is empty, compares the two, and gives a JSON object of how many there are.
    pub fn copy_to(&self, to: &Self, options: Option<&str>) -> Result<Text> {
        Object::parse("options", options, &[], json::DEFAULT_MAXIMUM_PAYLOAD_BYTES)?;
        let (from, to) = (&**self.backend(), &**to.backend());
        if std::ptr::addr_eq(from, to) {
            return Err(invalid("to", "a store cannot be copied to itself"));
        }
        if !is_empty(to)? {
            return Err(Error::new(Reason::StoreNotEmpty, "the store that is copied to has records already"));
        }
        let (from, to) = (Side::new(from)?, Side::new(to)?);
        let Figures { tasks, sessions, a2a_tasks, events } = each_record(&from, &to, &mut Copying)?;
        // Whoever writes meanwhile is noticed from one side or the other.
        each_record(&from, &to, &mut Comparing)?;
        each_record(&to, &from, &mut Comparing)?;
        Ok(Text::from(&*format!(
            "{{\"tasks\":{tasks},\"sessions\":{sessions},\"a2aTasks\":{a2a_tasks},\"events\":{events}}}"
        )))
    }
}

fn changed() -> Error {
    Error::new(Reason::StoreChanged, "one of the stores was changed while the other was made a copy of it")
}

fn is_empty(store: &dyn Backend) -> Result<bool> {
    fn has_rows<R: Row>(table: &(impl Table<R> + ?Sized)) -> Result<bool> {
        Ok(!table.ids(None, 1)?.is_empty())
    }
    let names = store.names()?;
    for name in &names.tasks {
        if has_rows(&*store.tasks(name)?)? {
            return Ok(false);
        }
    }
    for name in &names.sessions {
        if has_rows(&*store.sessions(name)?)? {
            return Ok(false);
        }
    }
    for name in &names.a2a_tasks {
        if has_rows(&*store.a2a_tasks(name)?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// One of the two stores, and where its ticks begin.
struct Side<'s> {
    store: &'s dyn Backend,
    /// Wall time of tick 0, in nanoseconds since 1970. Read once: clocks that are read again differ a little.
    base_ns: i128,
}

impl<'s> Side<'s> {
    fn new(store: &'s dyn Backend) -> Result<Self> {
        let Now { wall_ms, tick_ns } = store.now()?;
        let wall_ns = i128::from(wall_ms) * i128::from(NANOS_PER_MILLI);
        Ok(Self { store, base_ns: wall_ns - i128::from(tick_ns) })
    }

    fn wall_ms(&self, tick_ns: i64) -> i64 {
        saturated((self.base_ns + i128::from(tick_ns)).div_euclid(i128::from(NANOS_PER_MILLI)))
    }

    fn tick_ns(&self, wall_ms: i64) -> i64 {
        saturated(i128::from(wall_ms) * i128::from(NANOS_PER_MILLI) - self.base_ns)
    }

    /// A row of this store as it is in any: with wall time in the place of ticks.
    fn abstracted<R: Portable>(&self, row: &R) -> R {
        row.with_instants(&|tick_ns| self.wall_ms(tick_ns), &|wall_ms| wall_ms)
    }

    /// Such a row as this store has it.
    fn placed<R: Portable>(&self, row: &R) -> R {
        row.with_instants(&|wall_ms| self.tick_ns(wall_ms), &|wall_ms| self.tick_ns(wall_ms))
    }

    /// Whether this store need not have such a row any more.
    fn has_expired<R: Portable>(&self, row: &R) -> Result<bool> {
        let Some(deadline) = self.placed(row).expires_at() else { return Ok(false) };
        Ok(deadline <= self.store.now()?.tick_ns)
    }
}

fn saturated(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

/// Maps an instant to another.
type Map<'m> = &'m dyn Fn(i64) -> i64;

/// A row that can go to another store.
trait Portable: Row {
    /// The row with its instants mapped: ticks by `tick`, and those whose wall time the row has too by `wall` of that.
    /// What does not go with the row is taken out.
    fn with_instants(&self, tick: Map<'_>, wall: Map<'_>) -> Self;

    /// Whether they are the same, both with wall time in the place of ticks.
    fn is_same(&self, other: &Self) -> bool;
}

impl Portable for TaskRow {
    fn with_instants(&self, _tick: Map<'_>, wall: Map<'_>) -> Self {
        let moment = |moment: Moment| Moment { tick_ns: wall(moment.wall_ms), ..moment };
        let work = self.work.as_deref().map(|work| {
            let lease = work.lease.as_ref();
            Arc::new(Work {
                lease: lease.map(|lease| Lease { ends: moment(lease.ends), ..lease.clone() }),
                available_at: work.available_at.map(moment),
                ..work.clone()
            })
        });
        Self { created_tick_ns: wall(self.texts.created_ms()), work, ..self.clone() }
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}

impl Portable for SessionRow {
    fn with_instants(&self, tick: Map<'_>, wall: Map<'_>) -> Self {
        Self {
            created_tick_ns: wall(self.created_ms),
            active_tick_ns: tick(self.active_tick_ns),
            unpinned_tick_ns: self.unpinned_tick_ns.map(tick),
            ..self.clone()
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        let at = |row: &Self| row.unpinned_tick_ns.filter(|_| row.pins == 0);
        let is_close = match (at(self), at(other)) {
            (Some(one), Some(another)) => one.abs_diff(another) <= LAPSE_MS.unsigned_abs(),
            // A pin that is held ends later.
            (one, another) => one == another || self.pins != other.pins,
        };
        let rest = |row: &Self| Self { unpinned_tick_ns: None, pins: 0, ..row.clone() };
        is_close && rest(self) == rest(other)
    }
}

impl Portable for A2aRow {
    fn with_instants(&self, tick: Map<'_>, _wall: Map<'_>) -> Self {
        Self {
            finalized_tick_ns: self.finalized_tick_ns.map(tick),
            saved_tick_ns: tick(self.saved_tick_ns),
            appended: None,
            kept_events: KeptEvents::default(),
            ..self.clone()
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        let Self {
            id,
            owner,
            context_id,
            state,
            is_final,
            status_timestamp_ms,
            finalized_tick_ns,
            saved_tick_ns,
            retention_ms,
            revision,
            task,
            history,
            artifacts,
            push_configs,
            appended: _,
            log,
            kept_events: _,
        } = self;
        *id == other.id
            && *owner == other.owner
            && *context_id == other.context_id
            && *state == other.state
            && *is_final == other.is_final
            && *status_timestamp_ms == other.status_timestamp_ms
            && *finalized_tick_ns == other.finalized_tick_ns
            && *saved_tick_ns == other.saved_tick_ns
            && *retention_ms == other.retention_ms
            && *revision == other.revision
            && *task == other.task
            && *history == other.history
            && *artifacts == other.artifacts
            && *push_configs == other.push_configs
            && *log == other.log
    }
}

/// How much there is.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    tasks: u64,
    sessions: u64,
    a2a_tasks: u64,
    events: u64,
}

/// What is done with each record of a store and its place in another.
trait Pass {
    fn task(&mut self, row: &TaskRow, to: &Side<'_>, table: &dyn TaskTable) -> Result<()>;
    fn session(&mut self, row: &SessionRow, to: &Side<'_>, table: &dyn Table<SessionRow>) -> Result<()>;
    /// Gives how many events the task has.
    fn a2a_task(
        &mut self,
        row: &A2aRow,
        events: &dyn A2aTable,
        to: &Side<'_>,
        table: &dyn A2aTable,
    ) -> Result<u64>;
}

/// Goes through the records of `from`. Each is given with wall time in the place of ticks.
fn each_record(from: &Side<'_>, to: &Side<'_>, pass: &mut impl Pass) -> Result<Figures> {
    let mut figures = Figures::default();
    let names = from.store.names()?;
    for name in &names.tasks {
        let (source, target) = (from.store.tasks(name)?, to.store.tasks(name)?);
        each_task(&*source, &mut |row| {
            figures.tasks += 1;
            pass.task(&from.abstracted(row), to, &*target)
        })?;
    }
    for name in &names.sessions {
        let (source, target) = (from.store.sessions(name)?, to.store.sessions(name)?);
        each_by_id(&*source, &mut |row: &SessionRow| {
            figures.sessions += 1;
            pass.session(&from.abstracted(row), to, &*target)
        })?;
    }
    for name in &names.a2a_tasks {
        let (source, target) = (from.store.a2a_tasks(name)?, to.store.a2a_tasks(name)?);
        each_by_id(&*source, &mut |row: &A2aRow| {
            if row.is_damaged() || row.has_damaged_push_configs() {
                return Err(corrupt_row());
            }
            figures.a2a_tasks += 1;
            figures.events += pass.a2a_task(&from.abstracted(row), &*source, to, &*target)?;
            Ok(())
        })?;
    }
    Ok(figures)
}

/// Tasks in the order of their creation, which is to be the same in the copy.
fn each_task(table: &dyn TaskTable, visit: &mut dyn FnMut(&TaskRow) -> Result<()>) -> Result<()> {
    fn as_stored(row: &TaskRow, _now: Now) -> Cow<'_, TaskRow> {
        Cow::Borrowed(row)
    }
    let mut after = 0;
    loop {
        let (mut rows, mut corrupt) = (Vec::new(), Vec::new());
        let query = TaskQuery { after, limit: PER_PAGE, ..TaskQuery::default() };
        // A row may be shown with the store locked.
        let next = table.list(&query, as_stored, &mut |row, _| rows.push(row.clone()), &mut corrupt)?;
        if !corrupt.is_empty() {
            return Err(corrupt_row());
        }
        rows.iter().try_for_each(&mut *visit)?;
        match next {
            Some(next) => after = next,
            None => return Ok(()),
        }
    }
}

fn each_by_id<R: Row>(
    table: &(impl Table<R> + ?Sized),
    visit: &mut dyn FnMut(&R) -> Result<()>,
) -> Result<()> {
    let mut after: Option<Arc<str>> = None;
    loop {
        let ids = table.ids(after.as_deref(), PER_PAGE)?;
        for id in &ids {
            if let Some(row) = find(table, id)? {
                visit(&row)?;
            }
        }
        match ids.into_iter().next_back() {
            Some(last) => after = Some(last),
            None => return Ok(()),
        }
    }
}

fn find<R: Row>(table: &(impl Table<R> + ?Sized), id: &str) -> Result<Option<R>> {
    let mut found = None;
    table.read(id, &mut |row| found = Some(row.clone()))?;
    Ok(found)
}

/// Shows the events of a task, oldest first.
fn each_event(
    table: &dyn A2aTable,
    id: &str,
    visit: &mut dyn FnMut(u64, &Arc<str>) -> Result<()>,
) -> Result<()> {
    let mut after = 0;
    loop {
        let mut events: Vec<(u64, Arc<str>)> = Vec::new();
        table.read_events(id, after, PER_PAGE, &mut |revision, text| {
            events.push((revision, text.into()));
        })?;
        let Some((last, _)) = events.last() else { return Ok(()) };
        after = *last;
        for (revision, text) in &events {
            visit(*revision, text)?;
        }
    }
}

/// Stores a row where none may be.
fn put<R: Row>(table: &(impl Table<R> + ?Sized), row: &R) -> Result<()> {
    table.transact(row.id(), None, &mut |old, _| match old {
        None => Ok(Change::PutUnannounced(row.clone())),
        Some(_) => Err(changed()),
    })
}

/// The first pass.
struct Copying;

impl Pass for Copying {
    fn task(&mut self, row: &TaskRow, to: &Side<'_>, table: &dyn TaskTable) -> Result<()> {
        let Some(work) = &row.work else { return put(table, &to.placed(row)) };
        let (endpoint, partition) = (row.texts.endpoint(), row.texts.partition());
        let operation = work.order.operation_id.as_deref().map(|id| Operation {
            endpoint: &endpoint,
            partition: partition.as_deref(),
            id,
        });
        let placed = to.placed(row);
        let is_free = table.create(operation, placed.id(), Limits::default(), &mut |old, _| match old {
            None => Ok(Change::PutUnannounced(placed.clone())),
            Some(_) => Err(changed()),
        })?;
        if is_free { Ok(()) } else { Err(changed()) }
    }

    fn session(&mut self, row: &SessionRow, to: &Side<'_>, table: &dyn Table<SessionRow>) -> Result<()> {
        let mut placed = to.placed(row);
        if placed.pins > 0 {
            placed = placed.unpinned(placed.pins, to.store.now()?.tick_ns);
        }
        put(table, &placed)
    }

    fn a2a_task(
        &mut self,
        row: &A2aRow,
        events: &dyn A2aTable,
        to: &Side<'_>,
        table: &dyn A2aTable,
    ) -> Result<u64> {
        let placed = to.placed(row);
        let mut log = LogTotals { dropped_revision: row.log.dropped_revision, ..LogTotals::default() };
        let mut stored = 0;
        each_event(events, &row.id, &mut |revision, text| {
            let event = Appended { text: Arc::clone(text), limits: LogLimits::default() };
            let with_event = A2aRow { revision, appended: Some(event), log, ..placed.clone() };
            stored = revision;
            log.add(text);
            table.transact(&row.id, None, &mut |old, _| match old {
                Some(old) if log.events > 1 && old.revision < revision => {
                    Ok(Change::PutUnannounced(with_event.clone()))
                }
                None if log.events == 1 => Ok(Change::PutUnannounced(with_event.clone())),
                _ => Err(changed()),
            })
        })?;
        if stored != row.revision {
            let last = A2aRow { log, ..placed };
            table.transact(&row.id, None, &mut |old, _| {
                let is_expected = old.map_or(stored == 0, |old| old.revision == stored && stored > 0);
                if is_expected { Ok(Change::PutUnannounced(last.clone())) } else { Err(changed()) }
            })?;
        }
        Ok(log.events)
    }
}

/// The passes after it.
struct Comparing;

impl Comparing {
    fn compare<R: Portable>(row: &R, to: &Side<'_>, table: &(impl Table<R> + ?Sized)) -> Result<()> {
        let is_same = match find(table, row.id())? {
            Some(found) => to.abstracted(&found).is_same(row),
            None => to.has_expired(row)?,
        };
        if is_same { Ok(()) } else { Err(changed()) }
    }
}

impl Pass for Comparing {
    fn task(&mut self, row: &TaskRow, to: &Side<'_>, table: &dyn TaskTable) -> Result<()> {
        Self::compare(row, to, table)
    }

    fn session(&mut self, row: &SessionRow, to: &Side<'_>, table: &dyn Table<SessionRow>) -> Result<()> {
        Self::compare(row, to, table)
    }

    fn a2a_task(
        &mut self,
        row: &A2aRow,
        events: &dyn A2aTable,
        to: &Side<'_>,
        table: &dyn A2aTable,
    ) -> Result<u64> {
        Self::compare(row, to, table)?;
        if find(table, &row.id)?.is_none() {
            return Ok(0);
        }
        let mut count = 0;
        each_event(events, &row.id, &mut |revision, text| {
            count += 1;
            let mut is_same = false;
            table.read_events(&row.id, revision.saturating_sub(1), 1, &mut |found, other| {
                is_same = (found, other) == (revision, &**text);
            })?;
            if is_same { Ok(()) } else { Err(changed()) }
        })?;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::memory::MemoryBackend;
    use super::super::{SessionTable, TableNames};
    use super::*;
    use crate::clock::Clock;
    use crate::session::SessionStore;
    use crate::task::TaskManager;

    /// Does something to a store and its copy.
    type Meddle = fn(&Store, &Store);

    /// A store on which somebody does something when a pass over it begins.
    struct Meddled {
        store: Arc<MemoryBackend>,
        copy: Arc<MemoryBackend>,
        passes: AtomicUsize,
        at: usize,
        meddle: Meddle,
    }

    fn store(backend: &Arc<MemoryBackend>) -> Store {
        Store { backend: Arc::clone(backend) as Arc<dyn Backend> }
    }

    impl Backend for Meddled {
        fn tasks(&self, name: &str) -> Result<Arc<dyn TaskTable>> {
            self.store.tasks(name)
        }

        fn sessions(&self, name: &str) -> Result<Arc<dyn SessionTable>> {
            self.store.sessions(name)
        }

        fn a2a_tasks(&self, name: &str) -> Result<Arc<dyn A2aTable>> {
            self.store.a2a_tasks(name)
        }

        fn names(&self) -> Result<TableNames> {
            if self.passes.fetch_add(1, Ordering::Relaxed) == self.at {
                (self.meddle)(&store(&self.store), &store(&self.copy));
            }
            self.store.names()
        }

        fn now(&self) -> Result<Now> {
            self.store.now()
        }

        fn stats(&self) -> Result<Text> {
            self.store.stats()
        }

        fn check(&self) -> Result<Text> {
            self.store.check()
        }

        fn requires_task_limit(&self) -> bool {
            true
        }
    }

    fn add_task(store: &Store) {
        let tasks = TaskManager::open(store, None).expect("opened");
        tasks.create_task(r#"{"endpoint":"","origin":1}"#).expect("created");
    }

    fn sessions(store: &Store) -> SessionStore {
        SessionStore::open(store, None).expect("opened")
    }

    #[test]
    fn whoever_writes_meanwhile_is_noticed() {
        // The first pass copies, the second compares.
        let table: [(usize, Meddle); 6] = [
            (0, |_, copy| add_task(copy)),
            (1, |_, copy| add_task(copy)),
            (1, |store, _| add_task(store)),
            (1, |store, _| sessions(store).delete_by_session_id("s").expect("deleted")),
            (1, |_, copy| sessions(copy).delete_by_session_id("s").expect("deleted")),
            (1, |_, _| {}),
        ];
        for (row, (at, meddle)) in table.into_iter().enumerate() {
            let backend = || Arc::new(MemoryBackend::new(Clock::System));
            let (first, copy) = (backend(), backend());
            add_task(&store(&first));
            sessions(&store(&first)).create("", Some(r#"{"sessionId":"s"}"#)).expect("created");
            let passes = AtomicUsize::new(0);
            let meddled = Meddled { store: first, copy: Arc::clone(&copy), passes, at, meddle };
            let copied = Store { backend: Arc::new(meddled) }.copy_to(&store(&copy), None);
            if row == 5 {
                assert!(copied.is_ok(), "nobody did anything");
            } else {
                assert_eq!(copied.expect_err("noticed").reason(), Reason::StoreChanged, "row {row}");
            }
        }
    }
}
