//! What a task with a queue, a lease or an operation id has, in tables of its own: one narrow row that claims and
//! renewals change and that the indexes are over, and one with the texts that a worker leaves. The task's own row
//! has `work`, which tells it from a plain one; who reads a plain task looks into neither table.

#![forbid(unsafe_code)]

use rusqlite::params;

use super::super::sql::operation_key;
use super::super::{Operation, TaskRow, Work};
use super::row::{Place, signed};
use super::writer::Transaction;

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
