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

use super::super::{A2aFound, A2aListed, A2aPosition, A2aQuery, A2aRow, A2aTable, SessionRow, is_too_roomy};
use super::shard::{Entry, read, write};
use super::table::{Index, Indexed, MemoryTable};
use crate::error::Result;
use crate::sync::RwLock;

const STRIPES: usize = 64;

/// Expired rows that a listing removes before it looks, so that it seldom has to leave any out.
const SWEEP_PER_LISTING: usize = 256;

/// An entry at its place in the listing order. Small, since most of what a tree costs is fetching its nodes; the
/// entry is looked at for equal timestamps only.
#[derive(Clone)]
struct Place {
    order: i64,
    entry: Arc<Entry<A2aRow>>,
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
        (self.order, self.entry.key.as_bytes())
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
        self.order.cmp(&other.order).then_with(|| self.entry.key.as_bytes().cmp(other.entry.key.as_bytes()))
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

pub(super) struct OwnerOrder {
    hasher: DefaultHashBuilder,
    stripes: Box<[RwLock<HashMap<Owner, OwnerTasks>>]>,
}

impl Default for OwnerOrder {
    fn default() -> Self {
        Self {
            hasher: DefaultHashBuilder::default(),
            stripes: (0..STRIPES).map(|_| RwLock::default()).collect(),
        }
    }
}

fn place(entry: &Arc<Entry<A2aRow>>, row: &A2aRow) -> Place {
    Place { order: order(row.status_timestamp_ms), entry: Arc::clone(entry) }
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

/// Moves an entry from one place under one name to another under the same or another name.
fn shift(
    map: &mut HashMap<Arc<str>, Ordered>,
    (old_name, old): (Option<&Arc<str>>, &Place),
    (new_name, new): (Option<&Arc<str>>, &Place),
) {
    if old_name == new_name {
        if let Some(ordered) = new_name.and_then(|name| map.get_mut(name)) {
            ordered.remove(old);
            ordered.insert(new.clone());
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
    fn stripe(&self, owner: Option<&str>) -> &RwLock<HashMap<Owner, OwnerTasks>> {
        #[allow(clippy::cast_possible_truncation)] // below STRIPES
        &self.stripes[self.hasher.hash_one(owner) as usize % STRIPES]
    }

    /// Collects the entries of one page; see [`A2aTable::list`]. No entry is read under the stripe's lock,
    /// since whoever changes an entry takes the two locks the other way round.
    fn page(&self, query: &A2aQuery<'_>) -> Page {
        let stripe = read(self.stripe(query.owner));
        let owner: Owner = query.owner.map(Arc::from);
        let nothing = || Page { total: query.count.then_some(0), ..Page::default() };
        let Some(tasks) = stripe.get(&owner) else { return nothing() };
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
        page.entries.reserve(query.limit.min(walked.len()));
        let mut last = None;
        for place in places.by_ref().take(query.limit) {
            page.entries.push(Arc::clone(&place.entry));
            last = Some(place);
        }
        page.next = last.cloned().filter(|_| places.next().is_some());
        page
    }
}

#[derive(Default)]
struct Page {
    entries: Vec<Arc<Entry<A2aRow>>>,
    /// The last place, when more follow.
    next: Option<Place>,
    total: Option<u64>,
}

impl Index<A2aRow> for OwnerOrder {
    fn inserted(&self, entry: &Arc<Entry<A2aRow>>, row: &A2aRow) {
        let place = place(entry, row);
        let mut stripe = write(self.stripe(row.owner.as_deref()));
        let tasks = stripe.entry(row.owner.clone()).or_default();
        add(&mut tasks.by_state, &row.state, place.clone());
        if let Some(context) = &row.context_id {
            add(&mut tasks.by_context, context, place.clone());
        }
        tasks.all.insert(place);
    }

    fn replaced(&self, entry: &Arc<Entry<A2aRow>>, old: &A2aRow, new: &A2aRow) {
        let same_place = old.status_timestamp_ms == new.status_timestamp_ms;
        let same_state = old.state == new.state;
        let same_context = old.context_id == new.context_id;
        if same_place && same_state && same_context {
            return;
        }
        let (old_place, new_place) = (place(entry, old), place(entry, new));
        let mut stripe = write(self.stripe(old.owner.as_deref()));
        let Some(tasks) = stripe.get_mut(&old.owner) else { return };
        if !same_place || !same_state {
            shift(&mut tasks.by_state, (Some(&old.state), &old_place), (Some(&new.state), &new_place));
        }
        if !same_place || !same_context {
            let (from, to) = (old.context_id.as_ref(), new.context_id.as_ref());
            shift(&mut tasks.by_context, (from, &old_place), (to, &new_place));
        }
        if !same_place {
            tasks.all.remove(&old_place);
            tasks.all.insert(new_place);
        }
    }

    fn removed(&self, entry: &Arc<Entry<A2aRow>>, old: &A2aRow) {
        let place = place(entry, old);
        let mut stripe = write(self.stripe(old.owner.as_deref()));
        let Some(tasks) = stripe.get_mut(&old.owner) else { return };
        tasks.all.remove(&place);
        take(&mut tasks.by_state, &old.state, &place);
        if let Some(context) = &old.context_id {
            take(&mut tasks.by_context, context, &place);
        }
        if tasks.all.is_empty() {
            remove(&mut stripe, &old.owner);
        }
    }
}

impl Indexed for A2aRow {
    type Index = OwnerOrder;
    type Key = Arc<str>;

    fn key(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }

    fn class(&self) -> usize {
        usize::from(self.is_final)
    }

    fn bytes(&self) -> usize {
        let optional = |text: &Option<Arc<str>>| text.as_ref().map_or(0, |text| text.len());
        self.id.len()
            + optional(&self.owner)
            + optional(&self.context_id)
            + self.state.len()
            + self.task.len()
    }
}

/// Sessions are never listed.
#[derive(Default)]
pub(super) struct NoOrder;

impl Index<SessionRow> for NoOrder {
    fn inserted(&self, _entry: &Arc<Entry<SessionRow>>, _row: &SessionRow) {}
    fn replaced(&self, _entry: &Arc<Entry<SessionRow>>, _old: &SessionRow, _new: &SessionRow) {}
    fn removed(&self, _entry: &Arc<Entry<SessionRow>>, _old: &SessionRow) {}
}

impl Indexed for SessionRow {
    type Index = NoOrder;
    type Key = ();

    fn key(&self) {}

    fn class(&self) -> usize {
        0
    }

    fn bytes(&self) -> usize {
        self.id.len()
            + self.endpoint.len()
            + self.partition.as_ref().map_or(0, |text| text.len())
            + self.snapshot.len()
    }
}

impl A2aTable for MemoryTable<A2aRow> {
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
            for entry in &page.entries {
                // A row may have changed since its place was read; it is shown as it is now, if it still fits.
                entry.read(tick_ns, |row| {
                    if fits(row) {
                        visit(row.listed());
                        shown += 1;
                    }
                });
            }
            let next = page.next.map(|place| A2aPosition {
                status_timestamp_ms: (place.order != i64::MAX).then_some(!place.order),
                id: place.entry.key.as_ref().to_owned(),
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
