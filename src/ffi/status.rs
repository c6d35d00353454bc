//! The status of a call, as C sees it. The numbers are those of [`Status`], which decides.

use crate::error::Status;

/// What came of a call: `TASKHOLD_OK` or one of the other `TASKHOLD_*` statuses below. The numbers never
/// change; treat one that you do not know as a failure.
pub type taskhold_status = i32;

/// The call did what it says.
pub const TASKHOLD_OK: taskhold_status = 0;
/// An argument is malformed; the call cannot succeed as it stands.
pub const TASKHOLD_INVALID_ARGUMENT: taskhold_status = 1;
/// The handle is NULL, closed, forged, of another kind, or was made before a fork.
pub const TASKHOLD_INVALID_HANDLE: taskhold_status = 2;
/// The task is absent, expired, or not visible to the caller.
pub const TASKHOLD_NOT_FOUND: taskhold_status = 3;
/// A rule of the state machine refuses the call.
pub const TASKHOLD_INVALID_STATE: taskhold_status = 4;
/// The store is full; an unexpired record is never evicted.
pub const TASKHOLD_CAPACITY_EXHAUSTED: taskhold_status = 5;
/// An argument is larger or deeper than a limit.
pub const TASKHOLD_LIMIT_EXCEEDED: taskhold_status = 6;
/// An expected revision did not match, or an id is taken.
pub const TASKHOLD_CONFLICT: taskhold_status = 7;
/// Nothing happened within the time given.
pub const TASKHOLD_TIMEOUT: taskhold_status = 8;
/// The handle was closed while the call waited.
pub const TASKHOLD_CLOSED: taskhold_status = 9;
/// The storage failed; a retry may help.
pub const TASKHOLD_UNAVAILABLE: taskhold_status = 10;
/// A stored row cannot be read.
pub const TASKHOLD_CORRUPT: taskhold_status = 11;
/// This build or platform cannot do it.
pub const TASKHOLD_UNSUPPORTED: taskhold_status = 12;
/// A defect of the library; state is as before the call.
pub const TASKHOLD_INTERNAL: taskhold_status = 99;

const _: () = {
    assert!(TASKHOLD_OK == Status::Ok.code());
    assert!(TASKHOLD_INVALID_ARGUMENT == Status::InvalidArgument.code());
    assert!(TASKHOLD_INVALID_HANDLE == Status::InvalidHandle.code());
    assert!(TASKHOLD_NOT_FOUND == Status::NotFound.code());
    assert!(TASKHOLD_INVALID_STATE == Status::InvalidState.code());
    assert!(TASKHOLD_CAPACITY_EXHAUSTED == Status::CapacityExhausted.code());
    assert!(TASKHOLD_LIMIT_EXCEEDED == Status::LimitExceeded.code());
    assert!(TASKHOLD_CONFLICT == Status::Conflict.code());
    assert!(TASKHOLD_TIMEOUT == Status::Timeout.code());
    assert!(TASKHOLD_CLOSED == Status::Closed.code());
    assert!(TASKHOLD_UNAVAILABLE == Status::Unavailable.code());
    assert!(TASKHOLD_CORRUPT == Status::Corrupt.code());
    assert!(TASKHOLD_UNSUPPORTED == Status::Unsupported.code());
    assert!(TASKHOLD_INTERNAL == Status::Internal.code());
    assert!(Status::ALL.len() == 14);
};
