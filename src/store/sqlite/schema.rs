//! The schema of a store's file and how an older one becomes the present one. `docs/schema.md` describes it to
//! operators. The file says which version it has; one that is newer than this library is refused.

#![forbid(unsafe_code)]

use rusqlite::{Connection, TransactionBehavior};

use super::failure::{Failure, corrupt_file};
use crate::error::{Error, Reason};

/// "tkhd": tells a store from other SQLite files.
pub(super) const APPLICATION_ID: i64 = 0x746b_6864;

/// What leads from each version to the next. What is published here never changes.
const MIGRATIONS: [&str; 2] = [VERSION_1, VERSION_2];

/// The version that this library writes.
pub(super) const VERSION: i64 = 2;

const VERSION_1: &str = "
CREATE TABLE names (
    number INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    counted INTEGER NOT NULL DEFAULT 0,
    slots INTEGER NOT NULL DEFAULT 0,
    sequence INTEGER NOT NULL DEFAULT 0,
    UNIQUE (kind, name)
);
CREATE TABLE tasks (
    sequence INTEGER PRIMARY KEY,
    name INTEGER NOT NULL,
    id TEXT NOT NULL,
    status TEXT NOT NULL,
    revision INTEGER NOT NULL,
    row_version INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    ttl_ms INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    poll_interval_ms INTEGER NOT NULL,
    cancelation_requested INTEGER NOT NULL,
    endpoint TEXT NOT NULL,
    authorization_partition TEXT,
    status_message TEXT,
    origin TEXT NOT NULL,
    metadata TEXT,
    declared_input_requests TEXT,
    input_requests TEXT,
    input_responses TEXT,
    used_input_keys TEXT,
    outcome TEXT,
    UNIQUE (name, id)
);
CREATE INDEX tasks_expiry ON tasks (name, expires_at);
CREATE TABLE sessions (
    sequence INTEGER PRIMARY KEY,
    name INTEGER NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    row_version INTEGER NOT NULL DEFAULT 1,
    initialized INTEGER NOT NULL,
    terminated INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    last_activity_at INTEGER NOT NULL,
    active_at INTEGER NOT NULL,
    unpinned_at INTEGER,
    expires_at INTEGER,
    idle_timeout_ms INTEGER NOT NULL,
    initialization_timeout_ms INTEGER NOT NULL,
    pins INTEGER NOT NULL,
    instance INTEGER NOT NULL,
    endpoint TEXT NOT NULL,
    authorization_partition TEXT,
    snapshot TEXT NOT NULL,
    UNIQUE (name, id)
);
CREATE INDEX sessions_expiry ON sessions (name, expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE session_pins (
    session INTEGER NOT NULL,
    holder INTEGER NOT NULL,
    pins INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    UNIQUE (session, holder)
);
CREATE INDEX session_pins_holder ON session_pins (holder);
CREATE INDEX session_pins_lease ON session_pins (lease_until);
CREATE TABLE a2a_tasks (
    sequence INTEGER PRIMARY KEY,
    name INTEGER NOT NULL,
    id TEXT NOT NULL,
    owner TEXT,
    context_id TEXT,
    state TEXT NOT NULL,
    is_final INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    row_version INTEGER NOT NULL DEFAULT 1,
    status_at INTEGER,
    status_order INTEGER NOT NULL,
    finalized_at INTEGER,
    retention_ms INTEGER NOT NULL,
    expires_at INTEGER,
    history_spans BLOB,
    artifacts_spans BLOB,
    task TEXT NOT NULL,
    UNIQUE (name, id)
);
CREATE INDEX a2a_tasks_expiry ON a2a_tasks (name, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX a2a_tasks_owner ON a2a_tasks (name, owner, status_order, id, expires_at);
CREATE INDEX a2a_tasks_context ON a2a_tasks (name, owner, context_id, status_order, id, expires_at);
CREATE INDEX a2a_tasks_state ON a2a_tasks (name, owner, state, status_order, id, expires_at);
CREATE TABLE listeners (
    listener INTEGER PRIMARY KEY,
    lease_until INTEGER NOT NULL
);
CREATE TABLE changes (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    written_at INTEGER NOT NULL,
    writer INTEGER NOT NULL,
    name INTEGER NOT NULL,
    event TEXT NOT NULL,
    id TEXT NOT NULL
);
";

/// Not published yet. It renames a column that every write of version 1 names, so that an older process that has the
/// file open fails at its next write and breaks none of the rules that came after it.
const VERSION_2: &str = "
ALTER TABLE names RENAME COLUMN sequence TO last_sequence;
ALTER TABLE tasks DROP COLUMN row_version;
ALTER TABLE sessions DROP COLUMN row_version;
ALTER TABLE a2a_tasks DROP COLUMN row_version;
ALTER TABLE a2a_tasks ADD COLUMN push_configs TEXT;
ALTER TABLE a2a_tasks ADD COLUMN saved_at INTEGER NOT NULL DEFAULT 0;
UPDATE a2a_tasks SET retention_ms = 0 WHERE NOT is_final;
ALTER TABLE a2a_tasks ADD COLUMN log_events INTEGER NOT NULL DEFAULT 0;
ALTER TABLE a2a_tasks ADD COLUMN log_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE a2a_tasks ADD COLUMN log_dropped_revision INTEGER NOT NULL DEFAULT 0;
CREATE TABLE a2a_events (
    task INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    event TEXT NOT NULL,
    UNIQUE (task, revision)
);
ALTER TABLE tasks ADD COLUMN work TEXT;
CREATE TABLE work (
    task INTEGER PRIMARY KEY,
    name INTEGER NOT NULL,
    queue TEXT,
    is_fenced INTEGER NOT NULL,
    operation_id TEXT,
    operation_key BLOB,
    maximum_attempts INTEGER NOT NULL,
    backoff_ms INTEGER NOT NULL,
    maximum_backoff_ms INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    continues_attempt INTEGER NOT NULL,
    token INTEGER NOT NULL,
    worker TEXT,
    lease_ends_at INTEGER,
    available_at INTEGER,
    due_at INTEGER,
    ends_at INTEGER
);
CREATE INDEX work_due ON work (name, queue, due_at, task) WHERE due_at IS NOT NULL;
CREATE INDEX work_ends ON work (name, ends_at) WHERE ends_at IS NOT NULL;
CREATE UNIQUE INDEX work_operation ON work (name, operation_key) WHERE operation_key IS NOT NULL;
CREATE TABLE work_texts (
    task INTEGER PRIMARY KEY,
    checkpoint TEXT,
    last_failure TEXT
);
CREATE TABLE session_watchers (
    holder INTEGER PRIMARY KEY,
    store INTEGER NOT NULL,
    keep_expired INTEGER NOT NULL,
    last_number INTEGER NOT NULL DEFAULT 0,
    lease_until INTEGER NOT NULL
);
CREATE TABLE session_watches (
    session INTEGER NOT NULL,
    holder INTEGER NOT NULL,
    PRIMARY KEY (session, holder)
) WITHOUT ROWID;
CREATE INDEX session_watches_holder ON session_watches (holder);
CREATE TABLE expired_sessions (
    holder INTEGER NOT NULL,
    number INTEGER NOT NULL,
    reason TEXT NOT NULL,
    id TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    PRIMARY KEY (holder, number)
) WITHOUT ROWID;
CREATE TRIGGER tasks_work_deleted AFTER DELETE ON tasks WHEN OLD.work IS NOT NULL BEGIN
    DELETE FROM work WHERE task = OLD.sequence;
    DELETE FROM work_texts WHERE task = OLD.sequence;
END;
";

/// What a file is.
pub(super) enum Found {
    /// Nothing was written into it yet.
    Empty,
    /// A store of this or an older version.
    Store { version: i64 },
}

/// Looks at what a file is, without a write. Anything but a store or an empty file is refused.
pub(super) fn look(connection: &Connection) -> Result<Found, Failure> {
    // In one snapshot: another process may be making it a store.
    let snapshot = connection.unchecked_transaction()?;
    let found = look_in(&snapshot)?;
    snapshot.commit()?;
    Ok(found)
}

fn look_in(connection: &Connection) -> Result<Found, Failure> {
    let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (application_id, version) = (pragma("application_id")?, pragma("user_version")?);
    if application_id == 0 && version == 0 {
        let objects: i64 =
            connection.query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0))?;
        if objects == 0 {
            return Ok(Found::Empty);
        }
    }
    if application_id != APPLICATION_ID || version < 1 {
        return Err(Failure::Refused(corrupt_file()));
    }
    if version > VERSION {
        return Err(Failure::Refused(
            Error::new(Reason::SchemaTooNew, "the store was written by a newer version of this library")
                .with_limit(VERSION.unsigned_abs()),
        ));
    }
    Ok(Found::Store { version })
}

/// Brings the file to the present version, under the lock that all writers take.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), Failure> {
    if let Found::Store { version: VERSION } = look(connection)? {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    let from = match look_in(&transaction)? {
        Found::Empty => 0,
        Found::Store { version } => version,
    };
    for step in MIGRATIONS.iter().skip(usize::try_from(from).unwrap_or(usize::MAX)) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()?;
    Ok(())
}
