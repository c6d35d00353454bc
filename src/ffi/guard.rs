//! The panic boundary. Every export runs its body in here: a refusal becomes a status and an error object,
//! a panic becomes `TASKHOLD_INTERNAL`, and nothing unwinds into the host.

use std::ffi::c_char;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::args::Out;
use super::fork;
use super::status::{TASKHOLD_INTERNAL, TASKHOLD_OK, taskhold_status};
use crate::error::{Error, Reason, Result};
use crate::fault;
use crate::json::ObjectWriter;
use crate::text::Text;

/// Runs the body of the export `name` and reports how it ended.
///
/// Unwind safety: what the body can reach is either its own or the domain's, whose transitions decide on
/// copies and commit in one step that does not panic; locks recover from poisoning.
#[inline]
pub(super) fn guard(
    name: &'static str,
    out_error: Out<*mut c_char>,
    body: impl FnOnce() -> Result<()>,
) -> taskhold_status {
    let ended = catch_unwind(AssertUnwindSafe(|| {
        fault::point(name);
        fork::watch()?;
        body()
    }));
    match ended {
        Ok(Ok(())) => TASKHOLD_OK,
        Ok(Err(error)) => refuse(out_error, &error),
        Err(payload) => {
            discard(payload);
            refuse(out_error, &Error::new(Reason::Panic, "a defect of the library was caught"))
        }
    }
}

/// Runs the body of the export `name` that has no status to report; `fallback` is its result if it panics.
pub(super) fn guard_plain<T>(name: &'static str, fallback: T, body: impl FnOnce() -> T) -> T {
    let ended = catch_unwind(AssertUnwindSafe(|| {
        fault::point(name);
        body()
    }));
    match ended {
        Ok(value) => value,
        Err(payload) => {
            discard(payload);
            fallback
        }
    }
}

#[cold]
#[inline(never)]
fn refuse(out_error: Out<*mut c_char>, error: &Error) -> taskhold_status {
    // Formatting an error must not be the thing that brings the host down.
    let reported = catch_unwind(AssertUnwindSafe(|| {
        let status = error.status().code();
        if out_error.is_wanted() && out_error.give(error_object(error)).is_err() {
            // The ready response was too large: the error itself is small.
            let _ = out_error.give(error_object(&Error::new(error.reason(), error.message())));
        }
        status
    }));
    reported.unwrap_or_else(|payload| {
        discard(payload);
        TASKHOLD_INTERNAL
    })
}

/// What `out_error` gets (header, "Errors").
fn error_object(error: &Error) -> Text {
    let mut text = Text::with_capacity(160 + error.response().map_or(0, str::len));
    let mut object = ObjectWriter::new(&mut text);
    object
        .plain_string("status", error.status().name())
        .plain_string("reason", error.reason().name())
        .string("message", error.message());
    if let Some(key) = error.key() {
        object.string("key", key);
    }
    if let Some(limit) = error.limit() {
        object.int("limit", limit);
    }
    if let Some(response) = error.response() {
        object.json("response", response);
    }
    drop(object);
    text
}

/// Drops a panic's payload, whose own drop may panic once more.
#[cold]
fn discard(payload: Box<dyn std::any::Any + Send>) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        mem::forget(payload);
    }
}
