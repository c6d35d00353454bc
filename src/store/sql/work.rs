//! What a task with a queue, a lease or an operation id has beside its own columns: one narrow row that claims and
//! renewals change and that the indexes are over, and one with the texts that a worker leaves. The task's own row has
//! `work`, which tells it from a plain one; who reads a plain task looks into neither table.

#![forbid(unsafe_code)]

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::super::{Attempts, Lease, Operation, TaskRow, Work, WorkOrder};
use super::{Reader, Source, Ticks, Unreadable};
use crate::clock::Moment;
use crate::json::{self, Value};

/// What the column `work` of a task says: NULL for a plain one.
pub(in super::super) fn work_column(row: &TaskRow) -> Option<&str> {
    row.work.as_ref().map(|work| work.order.work.as_deref().unwrap_or("null"))
}

fn moment(ms: i64, ticks: Ticks) -> Moment {
    Moment { wall_ms: ms, tick_ns: ticks.tick(ms) }
}

/// Reads the columns of work: that of the task's own row, the narrow row as a JSON array, and the two texts.
pub(in super::super) fn read_work<'r, S: Source<'r>>(
    columns: &mut Reader<'r, S>,
    ticks: Ticks,
) -> Result<Option<Arc<Work>>, Unreadable> {
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
    let flag = |value: Value<'_>| match value.as_bool() {
        Some(flag) => Ok(flag),
        None => number(value).map(|number| number == 1),
    };
    let optional = |value: Value<'_>| if value.is_null() { Ok(None) } else { number(value).map(Some) };
    let small =
        |value: Value<'_>| number(value).and_then(|value| u32::try_from(value).map_err(|_| Unreadable));
    let order = WorkOrder {
        queue: text(value()?)?,
        is_fenced: flag(value()?)?,
        operation_id: text(value()?)?,
        attempts: Attempts {
            maximum: small(value()?)?,
            backoff_ms: number(value()?)?,
            maximum_backoff_ms: number(value()?)?,
        },
        work: (work != "null").then(|| work.into()),
    };
    let attempt = small(value()?)?;
    let continues_attempt = flag(value()?)?;
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

/// Whether a change is one of the work alone, so that the task's own row stays as it is.
pub(in super::super) fn is_of_work_alone(old: &TaskRow, new: &TaskRow) -> bool {
    let same_input = match (&old.input, &new.input) {
        (Some(old), Some(new)) => Arc::ptr_eq(old, new),
        (old, new) => old.is_none() && new.is_none(),
    };
    new.work.is_some() && old.revision == new.revision && same_input
}

/// What an operation is found by. Each part has its length before it, so that no two operations read alike.
pub(in super::super) fn operation_key(operation: &Operation<'_>) -> [u8; 32] {
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
