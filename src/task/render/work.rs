//! What a record says of a task's queue, lease and operation. Only trusted readers see it.

#![forbid(unsafe_code)]

use crate::json::ObjectWriter;
use crate::store::{TaskRow, Work};
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

/// Appends the members to a record, which ends with them; without `work` and `checkpoint`, or with them.
pub(super) fn push(mut record: ObjectWriter<'_>, work: &Work, with_payload: bool, answer: Answer) {
    let order = &work.order;
    record.string_or_null("queue", order.queue.as_deref());
    if with_payload {
        record
            .json_or_null("work", order.work.as_deref())
            .json_or_null("checkpoint", work.checkpoint.as_deref());
    }
    record.int("attempt", work.attempt);
    record
        .object("attempts")
        .int("maximum", order.attempts.maximum)
        .int("backoffMs", order.attempts.backoff_ms)
        .int("maximumBackoffMs", order.attempts.maximum_backoff_ms);
    match work.available_at {
        Some(moment) => record.timestamp("availableAt", &format_timestamp(moment.wall_ms)),
        None => record.json("availableAt", "null"),
    };
    match &work.lease {
        Some(lease) => {
            let mut object = record.object("lease");
            object
                .string("worker", &lease.worker)
                .timestamp("expiresAt", &format_timestamp(lease.ends.wall_ms));
            if answer.with_token {
                object.int("token", work.token);
            }
        }
        None => {
            record.json("lease", "null");
        }
    }
    record.json_or_null("lastFailure", work.last_failure.as_deref());
    record.string_or_null("operationId", order.operation_id.as_deref());
    if let Some(created) = answer.created {
        record.bool("created", created);
    }
}
