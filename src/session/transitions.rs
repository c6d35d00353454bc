//! The rules of a session as pure functions: the stored row, what is asked for and the time in, the row to
//! store or a refusal out. They know no lock, no clock and no backend.

#![forbid(unsafe_code)]

use std::sync::Arc;

use super::creation::Creation;
use super::options::Options;
use super::snapshot::{Snapshot, render_new};
use crate::clock::{NANOS_PER_MILLI, Now};
use crate::error::{Error, Reason, Result};
use crate::store::{Change, SessionRow};
use crate::text::{Text, to_shared};

/// A new, uninitialized session under an id that is free, with its snapshot.
pub(super) fn create(
    taken: Option<&SessionRow>,
    creation: &Creation<'_>,
    options: &Options,
    now: Now,
) -> Result<(SessionRow, Text)> {
    if taken.is_some() {
        return Err(Error::new(Reason::SessionIdInUse, "the session id is in use"));
    }
    let snapshot = render_new(creation, now.wall_ms)?;
    let duration = |ms: u64| i64::try_from(ms).unwrap_or(i64::MAX);
    let row = SessionRow {
        id: creation.session_id.as_ref().into(),
        endpoint: creation.endpoint.into(),
        partition: creation.partition.as_deref().map(Arc::from),
        created_ms: now.wall_ms,
        created_tick_ns: now.tick_ns,
        instance: creation.instance,
        last_activity_ms: now.wall_ms,
        active_tick_ns: now.tick_ns,
        unpinned_tick_ns: None,
        initialized: false,
        terminated: false,
        version: 0,
        idle_timeout_ms: duration(options.idle_timeout_ms),
        initialization_timeout_ms: duration(options.initialization_timeout_ms),
        pins: 0,
        snapshot: to_shared(snapshot.as_str())?,
    };
    Ok((row, snapshot))
}

/// What a replacement may not change, or only in one direction.
#[derive(Debug)]
pub(super) struct Fixed<'a> {
    session_id: &'a str,
    endpoint: &'a str,
    partition: Option<&'a str>,
    created_ms: i64,
    terminated: bool,
    version: u64,
}

impl<'a> From<&'a Snapshot<'_>> for Fixed<'a> {
    fn from(snapshot: &'a Snapshot<'_>) -> Self {
        Self {
            session_id: &snapshot.session_id,
            endpoint: &snapshot.endpoint,
            partition: snapshot.partition.as_deref(),
            created_ms: snapshot.created_ms,
            terminated: snapshot.terminated,
            version: snapshot.version,
        }
    }
}

impl<'a> From<&'a SessionRow> for Fixed<'a> {
    fn from(row: &'a SessionRow) -> Self {
        Self {
            session_id: &row.id,
            endpoint: &row.endpoint,
            partition: row.partition.as_deref(),
            created_ms: row.created_ms,
            terminated: row.terminated,
            version: row.version,
        }
    }
}

/// Whether `updated` may follow `before` at all, whatever is stored.
pub(super) fn check_replacement(before: &Fixed<'_>, updated: &Snapshot<'_>) -> Result<()> {
    let refused = |key, message| Err(Error::new(Reason::InvalidReplacement, message).with_key(key));
    if updated.session_id != before.session_id {
        return refused("sessionId", "a replacement keeps the session id");
    }
    if updated.endpoint != before.endpoint {
        return refused("endpoint", "a replacement keeps the endpoint");
    }
    if updated.partition.as_deref() != before.partition {
        return refused("authorizationPartition", "a replacement keeps the authorization partition");
    }
    if updated.created_ms != before.created_ms {
        return refused("createdAt", "a replacement keeps the time of creation");
    }
    if before.terminated && !updated.terminated {
        return refused("terminatedAt", "a terminated session stays terminated");
    }
    if updated.version <= before.version {
        return refused("version", "a replacement has a greater version");
    }
    Ok(())
}

/// What came of an attempt to replace.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The update is stored.
    Replaced,
    /// There is no such session.
    Absent,
    /// Another text is stored: this one.
    Differs(Arc<str>),
}

/// Stores `updated` if the stored text is `expected`, byte for byte.
pub(super) fn replace(
    stored: Option<&SessionRow>,
    expected: &str,
    updated: &Snapshot<'_>,
    now: Now,
) -> Result<(Change<SessionRow>, Outcome)> {
    let Some(row) = stored else { return Ok((Change::Keep, Outcome::Absent)) };
    if *row.snapshot != *expected {
        return Ok((Change::Keep, Outcome::Differs(Arc::clone(&row.snapshot))));
    }
    check_replacement(&row.into(), updated)?;
    let row = SessionRow {
        last_activity_ms: updated.last_activity_ms,
        active_tick_ns: active_tick_ns(row, updated, now),
        initialized: updated.initialized,
        terminated: updated.terminated,
        version: updated.version,
        snapshot: to_shared(updated.value.text())?,
        ..row.clone()
    };
    Ok((Change::Put(row), Outcome::Replaced))
}

/// From when on the replaced session counts as idle.
fn active_tick_ns(row: &SessionRow, updated: &Snapshot<'_>, now: Now) -> i64 {
    if row.terminated {
        return row.active_tick_ns;
    }
    // A session that ends now stays findable for one idle timeout from now on.
    if updated.terminated {
        return now.tick_ns;
    }
    // Read off the wall clock again, the same activity would move when that clock was stepped.
    if updated.last_activity_ms == row.last_activity_ms {
        return row.active_tick_ns;
    }
    let age_ms = now.wall_ms.saturating_sub(updated.last_activity_ms).max(0);
    now.tick_ns.saturating_sub(age_ms.saturating_mul(NANOS_PER_MILLI))
}
