//! A2A tasks in listing order (status timestamp descending, absent last, then id ascending), per owner, per
//! owner and context, and per owner and state. A page is a walk from its first key; nothing is sorted and,
//! but for combined filters, nothing is scanned.

#![forbid(unsafe_code)]

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::hash::BuildHasher as _;
use std::ops::Bound;
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashMap};

use super::super::{A2aFound, A2aListed, A2aPosition, A2aQuery, A2aRow, A2aTable, SessionRow, is_too_roomy};
use super::table::{Entry, Index, Indexed, MemoryTable, read, write};
use crate::error::Result;
use crate::sync::RwLock;

const STRIPES: usize = 64;

/// Expired rows that a listing removes before it looks, so that it seldom has to leave any out.
const SWEEP_PER_LISTING: usize = 256;

/// Place in the listing order. `Reverse(None)`, an absent timestamp, comes last.
type Key = (Reverse<Option<i64>>, Arc<str>);
type Ordered = BTreeMap<Key, Arc<Entry<A2aRow>>>;
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

fn key(row: &A2aRow) -> Key {
    (Reverse(row.status_timestamp_ms), Arc::clone(&row.id))
}

fn add(map: &mut HashMap<Arc<str>, Ordered>, name: &Arc<str>, key: Key, entry: &Arc<Entry<A2aRow>>) {
    map.entry(Arc::clone(name)).or_default().insert(key, Arc::clone(entry));
}

/// Takes a key out, and its map with the last one: an index must not outgrow its rows.
fn take(map: &mut HashMap<Arc<str>, Ordered>, name: &Arc<str>, key: &Key) {
    if let Some(ordered) = map.get_mut(name) {
        ordered.remove(key);
        if ordered.is_empty() {
            remove(map, name);
        }
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
        let in_time = |key: &Key| query.status_timestamp_from_ms.is_none_or(|from| key.0.0 >= Some(from));
        let in_other = |key: &Key| other.is_none_or(|other| other.contains_key(key));
        let total = query.count.then(|| {
            if other.is_some() || query.status_timestamp_from_ms.is_some() {
                walked.keys().take_while(|key| in_time(key)).filter(|key| in_other(key)).count()
            } else {
                walked.len()
            }
        });
        let start = match query.after {
            Some(after) => Bound::Excluded((Reverse(after.status_timestamp_ms), Arc::from(&*after.id))),
            None => Bound::Unbounded,
        };
        let mut rows = walked
            .range((start, Bound::Unbounded))
            .take_while(|(key, _)| in_time(key))
            .filter(|(key, _)| in_other(key));
        let mut page = Page { total: total.map(|total| total as u64), ..Page::default() };
        page.entries.reserve(query.limit.min(walked.len()));
        let mut last = None;
        for (key, entry) in rows.by_ref().take(query.limit) {
            page.entries.push(Arc::clone(entry));
            last = Some(key);
        }
        page.next = last.cloned().filter(|_| rows.next().is_some());
        page
    }
}

#[derive(Default)]
struct Page {
    entries: Vec<Arc<Entry<A2aRow>>>,
    /// The last key, when more follow.
    next: Option<Key>,
    total: Option<u64>,
}

impl Index<A2aRow> for OwnerOrder {
    fn inserted(&self, entry: &Arc<Entry<A2aRow>>, row: &A2aRow) {
        let mut stripe = write(self.stripe(row.owner.as_deref()));
        let tasks = stripe.entry(row.owner.clone()).or_default();
        tasks.all.insert(key(row), Arc::clone(entry));
        add(&mut tasks.by_state, &row.state, key(row), entry);
        if let Some(context) = &row.context_id {
            add(&mut tasks.by_context, context, key(row), entry);
        }
    }

    fn replaced(&self, entry: &Arc<Entry<A2aRow>>, old: &A2aRow, new: &A2aRow) {
        let same_place = old.status_timestamp_ms == new.status_timestamp_ms;
        if same_place && old.state == new.state && old.context_id == new.context_id {
            return;
        }
        let mut stripe = write(self.stripe(old.owner.as_deref()));
        let Some(tasks) = stripe.get_mut(&old.owner) else { return };
        let (old_key, new_key) = (key(old), key(new));
        if !same_place {
            tasks.all.remove(&old_key);
            tasks.all.insert(new_key.clone(), Arc::clone(entry));
        }
        if !same_place || old.state != new.state {
            take(&mut tasks.by_state, &old.state, &old_key);
            add(&mut tasks.by_state, &new.state, new_key.clone(), entry);
        }
        if !same_place || old.context_id != new.context_id {
            if let Some(context) = &old.context_id {
                take(&mut tasks.by_context, context, &old_key);
            }
            if let Some(context) = &new.context_id {
                add(&mut tasks.by_context, context, new_key, entry);
            }
        }
    }

    fn removed(&self, _entry: &Arc<Entry<A2aRow>>, old: &A2aRow) {
        let mut stripe = write(self.stripe(old.owner.as_deref()));
        let Some(tasks) = stripe.get_mut(&old.owner) else { return };
        let key = key(old);
        tasks.all.remove(&key);
        take(&mut tasks.by_state, &old.state, &key);
        if let Some(context) = &old.context_id {
            take(&mut tasks.by_context, context, &key);
        }
        if tasks.all.is_empty() {
            remove(&mut stripe, &old.owner);
        }
    }
}

impl Indexed for A2aRow {
    type Index = OwnerOrder;

    fn shared_id(&self) -> Arc<str> {
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

    fn shared_id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }

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
            let next = page.next.map(|(Reverse(status_timestamp_ms), id)| A2aPosition {
                status_timestamp_ms,
                id: id.as_ref().to_owned(),
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
