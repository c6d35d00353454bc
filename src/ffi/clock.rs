//! Clocks that a test moves by hand.

use std::ffi::c_char;
use std::sync::Arc;

use super::args::Out;
use super::guard::guard;
use super::handle::{self, Handle, HandleTable};
use super::status::taskhold_status;
use crate::clock::ManualClock;

/// A clock that only moves when it is told to. For tests: give it to a store.
pub struct taskhold_clock {
    _private: (),
}

impl Handle for taskhold_clock {
    type Object = Arc<ManualClock>;
    const KIND: u8 = 1;

    fn table() -> &'static HandleTable<Self::Object> {
        static TABLE: HandleTable<Arc<ManualClock>> = HandleTable::new();
        &TABLE
    }

    /// Stores keep the clock that they were given.
    fn close(_clock: &Self::Object) {}
}

/// Opens a clock that stands still until it is moved.
///
/// @param epoch_ms  In: its wall time, in milliseconds since 1970-01-01T00:00:00Z, in the years 0001 to
///                  9999. Its monotonic time starts at 0.
/// @param out_clock Out, owned: the clock. Close it with taskhold_clock_close().
/// @param out_error Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (invalid_value: `epoch_ms` is out of range).
/// @note Any thread. Does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_clock_open_manual(
    epoch_ms: i64,
    out_clock: *mut *mut taskhold_clock,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let (clock, error) = unsafe { (Out::clear(out_clock), Out::clear(out_error)) };
    guard("taskhold_clock_open_manual", error, || {
        clock.require("out_clock")?;
        clock.set(handle::open(Arc::new(ManualClock::new(epoch_ms)?))?);
        Ok(())
    })
}

/// Moves a clock forward, wall time and monotonic time alike, and wakes everyone who waits in a store that
/// has it. The timeouts of waits are real time and do not feel it.
///
/// @param clock     In: the clock.
/// @param ms        In: by how many milliseconds; 0 or more.
/// @param out_error Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (invalid_value: `ms` is negative, or leads out of the years 0001 to 9999 or
///         further than 292 years from the start).
/// @note Any thread. Does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_clock_advance(
    clock: *mut taskhold_clock,
    ms: i64,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let error = unsafe { Out::clear(out_error) };
    guard("taskhold_clock_advance", error, || handle::get(clock)?.advance(ms))
}

/// Steps the wall time of a clock, as an operator or a time service does; its monotonic time stays. In memory
/// ages are measured by the monotonic time, so nothing expires and nothing lives longer; a store on SQLite, which other
/// processes share, measures them by the wall time.
///
/// @param clock     In: the clock.
/// @param ms        In: by how many milliseconds; may be negative.
/// @param out_error Out, owned, optional: why the call failed.
/// @return OK; INVALID_ARGUMENT (invalid_value: `ms` leads out of the years 0001 to 9999).
/// @note Any thread. Does not block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_clock_step_wall(
    clock: *mut taskhold_clock,
    ms: i64,
    out_error: *mut *mut c_char,
) -> taskhold_status {
    // SAFETY: out-parameters are NULL or writable until the function returns (header, "Outputs").
    let error = unsafe { Out::clear(out_error) };
    guard("taskhold_clock_step_wall", error, || handle::get(clock)?.step_wall(ms))
}

/// Closes a clock. It lives on in the stores that were opened with it, and stands still there.
///
/// @param clock In: the clock. NULL and a closed one are fine.
/// @return OK; INVALID_HANDLE (foreign).
/// @note Any thread, also a finalizer or inside a callback. Never blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taskhold_clock_close(clock: *mut taskhold_clock) -> taskhold_status {
    guard("taskhold_clock_close", Out::none(), || handle::close(clock))
}
