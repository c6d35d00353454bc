//! A2A tasks in listing order (status timestamp descending, absent last, then id ascending), per owner, per
//! owner and context, and per owner and state. A page is a walk from its first key; nothing is sorted and,
//! but for combined filters, nothing is scanned.

#![forbid(unsafe_code)]

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::hash::BuildHasher as _;
use std::ops::Bound;
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashMap};

use super::super::{
    A2aFound, A2aListed, A2aPosition, A2aQuery, A2aRow, A2aTable, LogPosition, Table as _, is_too_roomy,
};
use super::shard::{Cell, Locator, is_alive};
use super::table::{Index, Indexed, MemoryTable};
use crate::error::Result;
use crate::sync::RwLock;

const STRIPES: usize = 64;

/// Expired rows that a listing removes before it looks, so that it seldom has to leave any out.
const SWEEP_PER_LISTING: usize = 256;

/// A row at its place in the listing order. Small, since most of what a tree costs is fetching its nodes; the
/// row is looked at for equal timestamps only.
#[derive(Clone)]
struct Place {
    order: i64,
    cell: Arc<Cell<A2aRow>>,
}

impl Place {
    fn of(cell: &Arc<Cell<A2aRow>>) -> Self {
        Self { order: order(cell.row.status_timestamp_ms), cell: Arc::clone(cell) }
    }
}

/// What rises as status timestamps fall, and is highest without one.
fn order(status_timestamp_ms: Option<i64>) -> i64 {
    status_timestamp_ms.map_or(i64::MAX, |ms| !ms)
}

/// What a place is compared by. A position without an entry has it too.
trait Rank {
    fn rank(&self) -> (i64, &[u8]);
}

impl Rank for Place {
    fn rank(&self) -> (i64, &[u8]) {
        (self.order, self.cell.row.id.as_bytes())
    }
}

impl Rank for A2aPosition {
    fn rank(&self) -> (i64, &[u8]) {
        (order(self.status_timestamp_ms), self.id.as_bytes())
    }
}

impl Ord for dyn Rank + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for dyn Rank + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for dyn Rank + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for dyn Rank + '_ {}

impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Place {}

impl<'a> Borrow<dyn Rank + 'a> for Place {
    fn borrow(&self) -> &(dyn Rank + 'a) {
        self
    }
}

type Ordered = BTreeSet<Place>;
type Owner = Option<Arc<str>>;

#[derive(Default)]
struct OwnerTasks {
    all: Ordered,
    by_context: HashMap<Arc<str>, Ordered>,
    by_state: HashMap<Arc<str>, Ordered>,
}

#[derive(Default)]
struct Stripe {
    tasks: HashMap<Owner, OwnerTasks>,
    /// The same owners, in order.
    owners: BTreeSet<Owner>,
}

pub(super) struct OwnerOrder {
    hasher: DefaultHashBuilder,
    stripes: Box<[RwLock<Stripe>]>,
}

impl Default for OwnerOrder {
    fn default() -> Self {
        Self {
            hasher: DefaultHashBuilder::default(),
            stripes: (0..STRIPES).map(|_| RwLock::default()).collect(),
        }
    }
}

fn add(map: &mut HashMap<Arc<str>, Ordered>, name: &Arc<str>, place: Place) {
    if let Some(ordered) = map.get_mut(name) {
        ordered.insert(place);
    } else {
        map.entry(Arc::clone(name)).or_default().insert(place);
    }
}

/// Takes a place out, and its map with the last one: an index must not outgrow its rows.
fn take(map: &mut HashMap<Arc<str>, Ordered>, name: &Arc<str>, place: &Place) {
    if let Some(ordered) = map.get_mut(name) {
        ordered.remove(place);
        if ordered.is_empty() {
            remove(map, name);
        }
    }
}

/// Moves a row. Where its place stays the same, the row that stands there is the new one from now on.
#[expect(clippy::mutable_key_type, reason = "what a place is ordered by never changes")]
fn move_to(ordered: &mut Ordered, old: &Place, new: &Place) {
    if old.order != new.order {
        ordered.remove(old);
    }
    ordered.replace(new.clone());
}

/// Moves a row from one place under one name to another under the same or another name.
fn shift(
    map: &mut HashMap<Arc<str>, Ordered>,
    (old_name, old): (Option<&Arc<str>>, &Place),
    (new_name, new): (Option<&Arc<str>>, &Place),
) {
    if old_name == new_name {
        if let Some(ordered) = new_name.and_then(|name| map.get_mut(name)) {
            move_to(ordered, old, new);
        }
        return;
    }
    if let Some(name) = old_name {
        take(map, name, old);
    }
    if let Some(name) = new_name {
        add(map, name, new.clone());
    }
}

/// Takes an entry out; a map that once was large gives its room back.
fn remove<K: Eq + std::hash::Hash, V>(map: &mut HashMap<K, V>, key: &K) {
    map.remove(key);
    if is_too_roomy(map.len(), map.capacity()) {
        map.shrink_to(map.len() * 2);
    }
}

impl OwnerOrder {
    fn stripe(&self, owner: Option<&str>) -> &RwLock<Stripe> {
        #[allow(clippy::cast_possible_truncation)] // below STRIPES
        &self.stripes[self.hasher.hash_one(owner) as usize % STRIPES]
    }

    /// Collects the rows of one page; see [`A2aTable::list`]. They are shown with no lock held.
    fn page(&self, query: &A2aQuery<'_>) -> Page {
        let stripe = self.stripe(query.owner).read();
        let owner: Owner = query.owner.map(Arc::from);
        let nothing = || Page { total: query.count.then_some(0), ..Page::default() };
        let Some(tasks) = stripe.tasks.get(&owner) else { return nothing() };
        let by_context = query.context_id.map(|context| tasks.by_context.get(context));
        let by_state = query.state.map(|state| tasks.by_state.get(state));
        // With both filters: walk the shorter index and keep the keys that stand in the other one too.
        let (walked, other) = match (by_context, by_state) {
            (None, None) => (Some(&tasks.all), None),
            (Some(one), None) | (None, Some(one)) => (one, None),
            (Some(Some(one)), Some(Some(other))) if one.len() > other.len() => (Some(other), Some(one)),
            (Some(one), Some(other)) => (one.and(other).and(one), other),
        };
        let Some(walked) = walked else { return nothing() };
        let last_in_time = query.status_timestamp_from_ms.map_or(i64::MAX, |from| order(Some(from)));
        let in_time = |place: &&Place| place.order <= last_in_time;
        let in_other = |place: &&Place| other.is_none_or(|other| other.contains(*place));
        let total = query.count.then(|| {
            if other.is_some() || query.status_timestamp_from_ms.is_some() {
                walked.iter().take_while(in_time).filter(in_other).count()
            } else {
                walked.len()
            }
        });
        let start: Bound<&dyn Rank> = query.after.map_or(Bound::Unbounded, |after| Bound::Excluded(after));
        let mut places =
            walked.range::<dyn Rank, _>((start, Bound::Unbounded)).take_while(in_time).filter(in_other);
        let mut page = Page { total: total.map(|total| total as u64), ..Page::default() };
        page.rows.reserve(query.limit.min(walked.len()));
        let mut last = None;
        for place in places.by_ref().take(query.limit) {
            page.rows.push(Arc::clone(&place.cell));
            last = Some(place);
        }
        page.next = last.cloned().filter(|_| places.next().is_some());
        page
    }
}

impl OwnerOrder {
    /// See [`A2aTable::owners`].
    fn owners(&self, after: Bound<Option<&str>>, limit: usize) -> Vec<Owner> {
        let start: Bound<Owner> = after.map(|owner| owner.map(Arc::from));
        let mut owners = Vec::new();
        for stripe in &self.stripes {
            let stripe = stripe.read();
            owners.extend(stripe.owners.range((start.as_ref(), Bound::Unbounded)).take(limit).cloned());
        }
        owners.sort_unstable();
        owners.truncate(limit);
        owners
    }
}

#[derive(Default)]
struct Page {
    rows: Vec<Arc<Cell<A2aRow>>>,
    /// The last place, when more follow.
    next: Option<Place>,
    total: Option<u64>,
}

impl Index<A2aRow> for OwnerOrder {
    fn inserted(&self, _locator: Locator, new: &Arc<Cell<A2aRow>>) {
        let (place, row) = (Place::of(new), &new.row);
        let mut stripe = self.stripe(row.owner.as_deref()).write();
        let Stripe { tasks, owners } = &mut *stripe;
        let tasks = tasks.entry(row.owner.clone()).or_insert_with(|| {
            owners.insert(row.owner.clone());
            OwnerTasks::default()
        });
        add(&mut tasks.by_state, &row.state, place.clone());
        if let Some(context) = &row.context_id {
            add(&mut tasks.by_context, context, place.clone());
        }
        tasks.all.insert(place);
    }

    fn replaced(&self, _locator: Locator, old: &Arc<Cell<A2aRow>>, new: &Arc<Cell<A2aRow>>) {
        let (old_place, new_place) = (Place::of(old), Place::of(new));
        let (old, new) = (&old.row, &new.row);
        let mut stripe = self.stripe(old.owner.as_deref()).write();
        let Some(tasks) = stripe.tasks.get_mut(&old.owner) else { return };
        shift(&mut tasks.by_state, (Some(&old.state), &old_place), (Some(&new.state), &new_place));
        let (from, to) = (old.context_id.as_ref(), new.context_id.as_ref());
        shift(&mut tasks.by_context, (from, &old_place), (to, &new_place));
        move_to(&mut tasks.all, &old_place, &new_place);
    }

    fn removed(&self, _locator: Locator, old: &Arc<Cell<A2aRow>>) {
        let (place, old) = (Place::of(old), &old.row);
        let mut stripe = self.stripe(old.owner.as_deref()).write();
        let Some(tasks) = stripe.tasks.get_mut(&old.owner) else { return };
        tasks.all.remove(&place);
        take(&mut tasks.by_state, &old.state, &place);
        if let Some(context) = &old.context_id {
            take(&mut tasks.by_context, context, &place);
        }
        if tasks.all.is_empty() {
            stripe.owners.remove(&old.owner);
            remove(&mut stripe.tasks, &old.owner);
        }
    }
}

impl Indexed for A2aRow {
    type Index = OwnerOrder;

    fn class(&self) -> usize {
        usize::from(self.is_final)
    }

    fn text(&self) -> &Arc<str> {
        &self.task
    }

    fn bytes(&self) -> usize {
        let optional = |text: &Option<Arc<str>>| text.as_ref().map_or(0, |text| text.len());
        self.id.len()
            + optional(&self.owner)
            + optional(&self.context_id)
            + self.state.len()
            + self.task.len()
            + optional(&self.push_configs)
            + usize::try_from(self.log.bytes).unwrap_or(usize::MAX)
    }

    fn stored_over(&mut self, old: Option<&Self>) {
        if let Some(old) = old {
            self.kept_events = old.kept_events.clone();
        }
        if let Some(appended) = self.appended.take() {
            self.kept_events.append(self.revision, appended, &mut self.log);
        }
    }
}

impl A2aTable for MemoryTable<A2aRow> {
    fn read_events(
        &self,
        id: &str,
        after: u64,
        limit: usize,
        visit: &mut dyn FnMut(u64, &str),
    ) -> Result<Option<LogPosition>> {
        let mut events = Vec::new();
        let mut position = None;
        self.read(id, &mut |row| {
            position = Some(LogPosition { revision: row.revision, totals: row.log });
            events = row.kept_events.after(after, limit);
        })?;
        for (revision, text) in &events {
            visit(*revision, text);
        }
        Ok(position)
    }

    fn owners(&self, after: Bound<Option<&str>>, limit: usize) -> Result<Vec<Owner>> {
        Ok(self.index.owners(after, limit))
    }

    fn list(&self, query: &A2aQuery<'_>, visit: &mut dyn FnMut(A2aListed<'_>)) -> Result<A2aFound> {
        self.sweep_all(SWEEP_PER_LISTING);
        let tick_ns = self.tick_ns();
        let fits = |row: &A2aRow| {
            query.context_id.is_none_or(|context| row.context_id.as_deref() == Some(context))
                && query.state.is_none_or(|state| *row.state == *state)
                && query.status_timestamp_from_ms.is_none_or(|from| row.status_timestamp_ms >= Some(from))
        };
        let mut page = self.index.page(query);
        // Expired rows that are not removed yet stand in the indexes and are not there for anyone.
        let total = page.total.map(|mut total| {
            if total > 0 {
                self.for_each_expired(tick_ns, |row| {
                    total = total.saturating_sub(u64::from(row.owner.as_deref() == query.owner && fits(row)));
                });
            }
            total
        });
        let mut shown = 0;
        loop {
            for cell in page.rows.iter().filter(|cell| is_alive(&cell.row, tick_ns)) {
                visit(cell.row.listed());
                shown += 1;
            }
            let next = page.next.map(|place| A2aPosition {
                status_timestamp_ms: (place.order != i64::MAX).then_some(!place.order),
                id: place.cell.row.id.as_ref().to_owned(),
            });
            if next.is_none() || shown == query.limit {
                return Ok(A2aFound { total, next, corrupt: Vec::new() });
            }
            page = self.index.page(&A2aQuery {
                after: next.as_ref(),
                limit: query.limit - shown,
                count: false,
                ..*query
            });
        }
    }
}
