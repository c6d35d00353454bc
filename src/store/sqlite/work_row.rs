//! What a task with a queue, a lease or an operation id has, in tables of its own: one narrow row that claims and
//! renewals change and that the indexes are over, and one with the texts that a worker leaves. The task's own row
//! has `work`, which tells it from a plain one; who reads a plain task looks into neither table.

#![forbid(unsafe_code)]

use std::sync::Arc;

use rusqlite::params;
use sha2::{Digest as _, Sha256};

use super::super::{Attempts, Lease, Operation, TaskRow, Work, WorkOrder};
use super::row::{Place, Reader, Ticks, Unreadable, signed};
use super::writer::Transaction;
use crate::clock::Moment;
use crate::json::{self, Value};

/// Of the columns of a task: the narrow row, packed into one text, or NULL.
pub(super) const PACKED: &str = "iif(t.work IS NULL, NULL, (SELECT json_array(queue, is_fenced, operation_id, \
     maximum_attempts, backoff_ms, maximum_backoff_ms, attempt, continues_attempt, token, worker, lease_ends_at, \
     available_at) FROM work WHERE task = t.sequence))";
pub(super) const CHECKPOINT: &str =
    "iif(t.work IS NULL, NULL, (SELECT checkpoint FROM work_texts WHERE task = t.sequence))";
pub(super) const LAST_FAILURE: &str =
    "iif(t.work IS NULL, NULL, (SELECT last_failure FROM work_texts WHERE task = t.sequence))";

const INSERT: &str = "INSERT INTO work (task, name, queue, is_fenced, operation_id, operation_key, maximum_attempts, \
     backoff_ms, maximum_backoff_ms, attempt, continues_attempt, token, worker, lease_ends_at, available_at, due_at, \
     ends_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";
const UPDATE: &str = "UPDATE work SET attempt = ?2, continues_attempt = ?3, token = ?4, worker = ?5, \
     lease_ends_at = ?6, available_at = ?7, due_at = ?8, ends_at = ?9 WHERE task = ?1";
const WRITE_TEXTS: &str = "INSERT INTO work_texts (task, checkpoint, last_failure) VALUES (?1, ?2, ?3) \
     ON CONFLICT (task) DO UPDATE SET checkpoint = excluded.checkpoint, last_failure = excluded.last_failure";

/// What the column `work` of a task says: NULL for a plain one.
pub(super) fn work_column(row: &TaskRow) -> Option<&str> {
    row.work.as_ref().map(|work| work.order.work.as_deref().unwrap_or("null"))
}

fn moment(ms: i64, ticks: Ticks) -> Moment {
    Moment { wall_ms: ms, tick_ns: ticks.tick(ms) }
}

/// Reads the columns of work: that of the task's own row and those above.
pub(super) fn read(columns: &mut Reader<'_, '_>, ticks: Ticks) -> Result<Option<Arc<Work>>, Unreadable> {
    let work = columns.optional_json()?;
    let packed = columns.optional_text()?;
    let (checkpoint, last_failure) = (columns.optional_json()?, columns.optional_json()?);
    let (work, packed) = match (work, packed) {
        (None, None) => return Ok(None),
        (Some(work), Some(packed)) => (work, packed),
        _ => return Err(Unreadable),
    };
    let packed = json::parse(packed, u64::MAX).map_err(|_| Unreadable)?;
    let mut values = packed.elements();
    let mut value = || values.next().ok_or(Unreadable);
    let text = |value: Value<'_>| -> Result<Option<Arc<str>>, Unreadable> {
        if value.is_null() {
            Ok(None)
        } else {
            value.as_str().map(|text| Some(text.into())).ok_or(Unreadable)
        }
    };
    let number = |value: Value<'_>| value.as_i64().ok_or(Unreadable);
    let optional = |value: Value<'_>| if value.is_null() { Ok(None) } else { number(value).map(Some) };
    let small =
        |value: Value<'_>| number(value).and_then(|value| u32::try_from(value).map_err(|_| Unreadable));
    let order = WorkOrder {
        queue: text(value()?)?,
        is_fenced: number(value()?)? == 1,
        operation_id: text(value()?)?,
        attempts: Attempts {
            maximum: small(value()?)?,
            backoff_ms: number(value()?)?,
            maximum_backoff_ms: number(value()?)?,
        },
        work: (work != "null").then(|| work.into()),
    };
    let attempt = small(value()?)?;
    let continues_attempt = number(value()?)? == 1;
    let token = u64::try_from(number(value()?)?).map_err(|_| Unreadable)?;
    let lease = match (text(value()?)?, optional(value()?)?) {
        (None, None) => None,
        (Some(worker), Some(ends)) => Some(Lease { worker, ends: moment(ends, ticks) }),
        _ => return Err(Unreadable),
    };
    Ok(Some(Arc::new(Work {
        order: Arc::new(order),
        attempt,
        continues_attempt,
        token,
        lease,
        available_at: optional(value()?)?.map(|ms| moment(ms, ticks)),
        checkpoint: checkpoint.map(Arc::from),
        last_failure: last_failure.map(Arc::from),
    })))
}

/// Writes the work of a new task.
pub(super) fn insert(row: &TaskRow, transaction: &Transaction<'_>, place: Place) -> rusqlite::Result<()> {
    let Some(work) = &row.work else { return Ok(()) };
    let order = &work.order;
    let key = order.operation_id.as_deref().map(|id| {
        let (endpoint, partition) = (row.texts.endpoint(), row.texts.partition());
        operation_key(&Operation { endpoint: &endpoint, partition: partition.as_deref(), id })
    });
    let values = params![
        place.sequence,
        place.name,
        order.queue.as_deref(),
        order.is_fenced,
        order.operation_id.as_deref(),
        key.as_ref().map(<[u8; 32]>::as_slice),
        order.attempts.maximum,
        order.attempts.backoff_ms,
        order.attempts.maximum_backoff_ms,
        work.attempt,
        work.continues_attempt,
        signed(work.token),
        work.lease.as_ref().map(|lease| &*lease.worker),
        work.lease.as_ref().map(|lease| lease.ends.wall_ms),
        work.available_at.map(|moment| moment.wall_ms),
        row.due_at().map(|moment| moment.wall_ms),
        row.ends_at().map(|moment| moment.wall_ms),
    ];
    transaction.execute(INSERT, values)?;
    write_texts(None, work, transaction, place)
}

/// Writes what changed of a task's work. When a task can be claimed depends on its status too.
pub(super) fn update(
    old: &TaskRow,
    new: &TaskRow,
    transaction: &Transaction<'_>,
    place: Place,
) -> rusqlite::Result<()> {
    let Some(work) = &new.work else { return Ok(()) };
    let values = params![
        place.sequence,
        work.attempt,
        work.continues_attempt,
        signed(work.token),
        work.lease.as_ref().map(|lease| &*lease.worker),
        work.lease.as_ref().map(|lease| lease.ends.wall_ms),
        work.available_at.map(|moment| moment.wall_ms),
        new.due_at().map(|moment| moment.wall_ms),
        new.ends_at().map(|moment| moment.wall_ms),
    ];
    transaction.execute(UPDATE, values)?;
    write_texts(old.work.as_deref(), work, transaction, place)
}

fn write_texts(
    old: Option<&Work>,
    new: &Work,
    transaction: &Transaction<'_>,
    place: Place,
) -> rusqlite::Result<()> {
    let (checkpoint, failure) = (new.checkpoint.as_deref(), new.last_failure.as_deref());
    let before = old.map_or((None, None), |old| (old.checkpoint.as_deref(), old.last_failure.as_deref()));
    if before == (checkpoint, failure) {
        return Ok(());
    }
    transaction.execute(WRITE_TEXTS, (place.sequence, checkpoint, failure)).map(|_| ())
}

/// Whether a change is one of the work alone, so that the task's own row stays as it is.
pub(super) fn is_of_work_alone(old: &TaskRow, new: &TaskRow) -> bool {
    let same_input = match (&old.input, &new.input) {
        (Some(old), Some(new)) => Arc::ptr_eq(old, new),
        (old, new) => old.is_none() && new.is_none(),
    };
    new.work.is_some() && old.revision == new.revision && same_input
}

/// What an operation is found by. Each part has its length before it, so that no two operations read alike.
pub(super) fn operation_key(operation: &Operation<'_>) -> [u8; 32] {
    let mut hash = Sha256::new();
    let mut add = |part: Option<&str>| match part {
        None => hash.update([0]),
        Some(part) => {
            hash.update([1]);
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
    };
    add(Some(operation.endpoint));
    add(operation.partition);
    add(Some(operation.id));
    hash.finalize().into()
}
