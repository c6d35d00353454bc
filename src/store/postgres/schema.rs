//! The tables of a store in a database and how older ones become the present ones. `docs/schema.md` describes them to
//! operators. Which version they have stands in a table of its own; one that is newer than this library is refused.

#![forbid(unsafe_code)]

use super::connection::{COMMIT, Connection, Query, ROLLBACK};
use super::fault::Fault;
use super::pool::Denied;
use super::values::{Values, values};
use crate::error::{Error, Reason};

/// What leads from each version to the next. What is published here never changes. Statements end with a line of their
/// own.
const MIGRATIONS: [&str; 1] = [VERSION_1];

/// The version that this library writes.
pub(super) const VERSION: i64 = 1;

/// The key of the lock under which tables are made: "taskhold".
pub(super) const LOCK: i64 = 0x7461_736b_686f_6c64;

const VERSION_1: &str = include_str!("schema_1.sql");

fn too_new() -> Error {
    Error::new(Reason::SchemaTooNew, "the store was written by a newer version of this library")
        .with_limit(VERSION.unsigned_abs())
}

fn version(connection: &mut Connection) -> Result<Option<i64>, Fault> {
    let table = format!("{}.taskhold_schema", connection.setup().schema);
    let is_there = "SELECT to_regclass($1) IS NOT NULL";
    let answers = connection.run_alone(Query::new(is_there, values![table.as_str()]))?;
    if !answers.rows.first().is_some_and(|row| row.flag(0)) {
        return Ok(None);
    }
    read_version(connection)
}

fn read_version(connection: &mut Connection) -> Result<Option<i64>, Fault> {
    let answer = connection.run_alone(Query::new("SELECT max(version) FROM @schema", values![]))?;
    Ok(answer.rows.first().and_then(|row| row.optional_integer(0)))
}

/// Looks whether the tables are still those of this version. For a connection that is new.
pub(super) fn check(connection: &mut Connection) -> Result<(), Denied> {
    match read_version(connection).map_err(Denied::Fault)? {
        Some(VERSION) => Ok(()),
        Some(newer) if newer > VERSION => Err(Denied::Refused(too_new())),
        _ => Err(Denied::Fault(Fault::Server(*b"42P01"))),
    }
}

/// Makes the tables, or brings them to the present version. When they are there already no lock is taken.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), Denied> {
    let answer =
        connection.run_alone(Query::new("SELECT pg_is_in_recovery()", values![])).map_err(Denied::Fault)?;
    if answer.rows.first().is_some_and(|row| row.flag(0)) {
        return Err(Denied::Fault(Fault::Server(*b"25006")));
    }
    match version(connection).map_err(Denied::Fault)? {
        Some(VERSION) => return Ok(()),
        Some(newer) if newer > VERSION => return Err(Denied::Refused(too_new())),
        _ => {}
    }
    let done = migrate_under_lock(connection);
    if done.is_err() {
        // Whatever failed, nothing of it stays.
        let _ = connection.run(&[ROLLBACK]);
    }
    done
}

fn migrate_under_lock(connection: &mut Connection) -> Result<(), Denied> {
    let setup = std::sync::Arc::clone(connection.setup());
    let fault = Denied::Fault;
    let begin = [
        Query::new("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", values![]),
        // Making tables may take longer than a statement otherwise may, and so may waiting for another who makes them.
        Query::new("SET LOCAL statement_timeout = 0", values![]),
        Query::new("SELECT pg_advisory_xact_lock($1)", values![LOCK]),
    ];
    connection.with_patience(|connection| connection.run(&begin)).map_err(fault)?;
    let schema = setup.schema.trim_matches('"');
    let is_there = "SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)";
    let answers = connection.run(&[Query::new(is_there, values![schema])]).map_err(fault)?;
    let has_schema = answers.first().and_then(|answer| answer.rows.first()).is_some_and(|row| row.flag(0));
    if !has_schema {
        let create = format!("CREATE SCHEMA {}", setup.schema);
        connection.run(&[Query::new(&create, values![])]).map_err(fault)?;
    }
    // Another process may have been faster.
    let from = in_transaction_version(connection).map_err(fault)?;
    if from > VERSION {
        return Err(Denied::Refused(too_new()));
    }
    // All in one write.
    let steps = MIGRATIONS.iter().skip(usize::try_from(from).unwrap_or(usize::MAX));
    let statements = steps.flat_map(|step| step.split(";\n\n")).map(str::trim);
    let mut batch: Vec<Query<'_>> = statements
        .filter(|statement| !statement.is_empty())
        .map(|statement| Query::new(statement, Values::NONE))
        .collect();
    batch.extend([
        Query::new("DELETE FROM @schema", Values::NONE),
        Query::new("INSERT INTO @schema (version) VALUES ($1)", values![VERSION]),
        COMMIT,
    ]);
    connection.with_patience(|connection| connection.run(&batch)).map_err(fault)?;
    connection.forget_statements();
    Ok(())
}

fn in_transaction_version(connection: &mut Connection) -> Result<i64, Fault> {
    let table = format!("{}.taskhold_schema", connection.setup().schema);
    let is_there = [Query::new("SELECT to_regclass($1) IS NOT NULL", values![table.as_str()])];
    let answers = connection.run(&is_there)?;
    if !answers.first().and_then(|answer| answer.rows.first()).is_some_and(|row| row.flag(0)) {
        return Ok(0);
    }
    let answers = connection.run(&[Query::new("SELECT max(version) FROM @schema", values![])])?;
    Ok(answers.first().and_then(|answer| answer.rows.first()).map_or(0, |row| row.integer(0)))
}
