//! A2A tasks in columns. The order of a listing, newest status first and absent last, stands in a column of its own,
//! so that a page is one walk over an index.

#![forbid(unsafe_code)]

use std::sync::Arc;

use super::super::{A2aPosition, A2aRow, ArrayIndex, KeptEvents, LogPosition, LogTotals, Row as _};
use super::{Binder, Column, Reader, Source, Ticks, Unreadable, signed};

/// Beside `status_order`, so that tasks without a status timestamp come last.
const NO_STATUS_TIMESTAMP: i64 = i64::MAX;

/// The place of a status timestamp in the order of listings.
pub(in super::super) fn status_order(status_timestamp_ms: Option<i64>) -> i64 {
    status_timestamp_ms.map_or(NO_STATUS_TIMESTAMP, |ms| -ms.max(1 - NO_STATUS_TIMESTAMP))
}

/// Where a row of a listing stands, by its `status_order` and its id.
pub(in super::super) fn listed_position(order: Option<i64>, id: String) -> A2aPosition {
    let order = order.unwrap_or(NO_STATUS_TIMESTAMP);
    let status_timestamp_ms = (order != NO_STATUS_TIMESTAMP).then(|| order.saturating_neg());
    A2aPosition { status_timestamp_ms, id }
}

pub(in super::super) const A2A_COLUMNS: [Column; 19] = [
    Column::fixed("id"),
    Column::changing("owner"),
    Column::changing("context_id"),
    Column::changing("state"),
    Column::changing("is_final"),
    Column::changing("status_at"),
    Column::changing_for_index("status_order"),
    Column::changing("finalized_at"),
    Column::changing("saved_at"),
    Column::changing("retention_ms"),
    Column::changing_for_index("expires_at"),
    Column::changing("revision"),
    Column::changing("log_events"),
    Column::changing("log_bytes"),
    Column::changing("log_dropped_revision"),
    Column::changing("push_configs").concealed_as("NULL"),
    Column::changing("history_spans").concealed_as("NULL"),
    Column::changing("artifacts_spans").concealed_as("NULL"),
    Column::changing("task").concealed_as("'{}'"),
];

/// Spans as a sequence of 32-bit numbers, least significant byte first.
fn spans_to_bytes(index: Option<&ArrayIndex>) -> Option<Vec<u8>> {
    let index = index?;
    let head = [index.member_start, index.value_start, index.value_end];
    Some(head.iter().chain(&*index.elements).flat_map(|at| at.to_le_bytes()).collect())
}

/// The spans, if they fit `text`: a cut must never fall outside it or into a character.
fn spans_from_bytes(bytes: Option<&[u8]>, text: &str) -> Result<Option<ArrayIndex>, Unreadable> {
    let Some(bytes) = bytes else { return Ok(None) };
    let (numbers, []) = bytes.as_chunks::<4>() else { return Err(Unreadable) };
    let mut numbers = numbers.iter().map(|bytes| u32::from_le_bytes(*bytes));
    let mut next = || numbers.next().ok_or(Unreadable);
    let (member_start, value_start, value_end) = (next()?, next()?, next()?);
    let elements: Box<[u32]> = numbers.collect();
    let is_boundary = |at: u32| text.is_char_boundary(at as usize);
    let rises = elements.windows(2).all(|pair| pair[0] < pair[1]);
    let inside = elements.first().is_none_or(|&first| first > value_start)
        && elements.last().is_none_or(|&last| last < value_end)
        && elements.iter().all(|&at| is_boundary(at));
    let frame = text.as_bytes().get(member_start as usize) == Some(&b'"')
        && member_start < value_start
        && value_start < value_end
        && [member_start, value_start, value_end].into_iter().all(is_boundary);
    if !(rises && inside && frame) {
        return Err(Unreadable);
    }
    Ok(Some(ArrayIndex { member_start, value_start, value_end, elements }))
}

/// Stands for texts that are damaged: no JSON text is empty.
const DAMAGED: &str = "";

/// The task and its spans.
pub(in super::super) type TaskText<'r> = (&'r str, Option<ArrayIndex>, Option<ArrayIndex>);

/// Reads the columns of [`TaskText`], which stand together: history spans, artifacts spans, text.
pub(in super::super) fn read_task_text<'r, S: Source<'r>>(
    columns: &mut Reader<'r, S>,
) -> Result<TaskText<'r>, Unreadable> {
    let (history, artifacts) = (columns.optional_bytes(), columns.optional_bytes());
    let task = columns.json()?;
    let (history, artifacts) = (spans_from_bytes(history?, task)?, spans_from_bytes(artifacts?, task)?);
    if let (Some(one), Some(other)) = (&history, &artifacts)
        && one.member_start < other.value_end
        && other.member_start < one.value_end
    {
        // Both would be cut out of the same bytes.
        return Err(Unreadable);
    }
    Ok((task, history, artifacts))
}

/// Reads the columns of an A2A task.
pub(in super::super) fn read_a2a<'r, S: Source<'r>>(
    columns: &mut Reader<'r, S>,
    ticks: Ticks,
) -> Result<A2aRow, Unreadable> {
    let id = columns.text()?.into();
    let owner = columns.optional_text()?.map(Arc::from);
    let context_id = columns.optional_text()?.map(Arc::from);
    let state = columns.text()?.into();
    let is_final = columns.flag()?;
    let status_timestamp_ms = columns.optional_integer()?;
    let finalized_tick_ns = columns.optional_integer()?.map(|ms| ticks.tick(ms));
    let saved_tick_ns = ticks.tick(columns.integer()?);
    let retention_ms = columns.integer()?;
    let LogPosition { revision, totals: log } = log_position(columns)?;
    if finalized_tick_ns.is_some() != is_final {
        return Err(Unreadable);
    }
    // The columns answer for a task whose texts are damaged, and let it be deleted and replaced.
    let push_configs = columns.optional_json().unwrap_or(Some(DAMAGED));
    let (task, history, artifacts) = read_task_text(columns).unwrap_or((DAMAGED, None, None));
    Ok(A2aRow {
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
        history: history.map(Arc::new),
        artifacts: artifacts.map(Arc::new),
        task: task.into(),
        push_configs: push_configs.map(Arc::from),
        appended: None,
        log,
        kept_events: KeptEvents::default(),
    })
}

/// Reads where the log of a task stands: its revision and what the log holds.
pub(in super::super) fn log_position<'r, S: Source<'r>>(
    columns: &mut Reader<'r, S>,
) -> Result<LogPosition, Unreadable> {
    Ok(LogPosition {
        revision: columns.count()?,
        totals: LogTotals {
            events: columns.count()?,
            bytes: columns.count()?,
            dropped_revision: columns.count()?,
        },
    })
}

/// Gives the values of an A2A task's columns.
pub(in super::super) fn bind_a2a<B: Binder>(
    row: &A2aRow,
    columns: &mut B,
    ticks: Ticks,
) -> Result<(), B::Error> {
    columns.put((&*row.id).into())?;
    columns.put(row.owner.as_deref().into())?;
    columns.put(row.context_id.as_deref().into())?;
    columns.put((&*row.state).into())?;
    columns.put(row.is_final.into())?;
    columns.put(row.status_timestamp_ms.into())?;
    columns.put(status_order(row.status_timestamp_ms).into())?;
    columns.put(row.finalized_tick_ns.map(|tick| ticks.ms(tick)).into())?;
    columns.put(ticks.ms(row.saved_tick_ns).into())?;
    columns.put(row.retention_ms.into())?;
    columns.put(row.expires_at().map(|deadline| ticks.deadline_ms(deadline)).into())?;
    columns.put(signed(row.revision).into())?;
    columns.put(signed(row.log.events).into())?;
    columns.put(signed(row.log.bytes).into())?;
    columns.put(signed(row.log.dropped_revision).into())?;
    columns.put(row.push_configs.as_deref().into())?;
    columns.put(spans_to_bytes(row.history.as_deref()).as_deref().into())?;
    columns.put(spans_to_bytes(row.artifacts.as_deref()).as_deref().into())?;
    columns.put((&*row.task).into())
}
