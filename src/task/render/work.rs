//! What a record says of a task's queue, lease and operation. Only trusted readers see it.

#![forbid(unsafe_code)]

use crate::store::{TaskRow, Work};
use crate::text::Text;
use crate::time::format_timestamp;

/// What only the answer to one call says.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Answer {
    /// Whether the lease is shown with its token: to who has just got it.
    pub(crate) with_token: bool,
    /// Whether the call made the task, if it had an operation id.
    pub(crate) created: Option<bool>,
}

/// Room for the names, numbers and punctuation.
const FRAME_BYTES: usize = 384;

/// Room for all of it.
pub(super) fn room(row: &TaskRow) -> usize {
    // An escaped character takes six bytes at most.
    row.work.as_ref().map_or(0, |work| FRAME_BYTES + 6 * work.bytes())
}

/// Appends the members to a record; without `work` and `checkpoint`, or with them.
pub(super) fn push(text: &mut Text, work: &Work, with_payload: bool, answer: Answer) {
    let order = &work.order;
    text.push_str(",\"queue\":");
    text.push_json_string_or_null(order.queue.as_deref());
    if with_payload {
        text.push_str(",\"work\":");
        text.push_str(order.work.as_deref().unwrap_or("null"));
        text.push_str(",\"checkpoint\":");
        text.push_str(work.checkpoint.as_deref().unwrap_or("null"));
    }
    text.push_str(",\"attempt\":");
    text.push_int(work.attempt);
    text.push_str(",\"attempts\":{\"maximum\":");
    text.push_int(order.attempts.maximum);
    text.push_str(",\"backoffMs\":");
    text.push_int(order.attempts.backoff_ms);
    text.push_str(",\"maximumBackoffMs\":");
    text.push_int(order.attempts.maximum_backoff_ms);
    match work.available_at {
        Some(moment) => {
            text.push_str("},\"availableAt\":\"");
            text.push_timestamp(&format_timestamp(moment.wall_ms));
            text.push_str("\"");
        }
        None => text.push_str("},\"availableAt\":null"),
    }
    match &work.lease {
        Some(lease) => {
            text.push_str(",\"lease\":{\"worker\":");
            text.push_json_string(&lease.worker);
            text.push_str(",\"expiresAt\":\"");
            text.push_timestamp(&format_timestamp(lease.ends.wall_ms));
            text.push_str("\"");
            if answer.with_token {
                text.push_str(",\"token\":");
                text.push_int(work.token);
            }
            text.push_str("}");
        }
        None => text.push_str(",\"lease\":null"),
    }
    text.push_str(",\"lastFailure\":");
    text.push_str(work.last_failure.as_deref().unwrap_or("null"));
    text.push_str(",\"operationId\":");
    text.push_json_string_or_null(order.operation_id.as_deref());
    if let Some(created) = answer.created {
        text.push_str(",\"created\":");
        text.push_str(if created { "true" } else { "false" });
    }
}
