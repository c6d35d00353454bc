//! What SQLite's errors mean here: a file that is damaged or is no store, a storage that fails for now, or a
//! row that cannot be read.

#![forbid(unsafe_code)]

use rusqlite::ErrorCode;

use crate::error::{Error, Reason};
use crate::text::no_room;

/// Why a step in a transaction did not come to an end.
#[derive(Debug)]
pub(super) enum Failure {
    /// A rule or a limit refuses it; the storage is well.
    Refused(Error),
    /// The storage failed.
    Storage(rusqlite::Error),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Storage(error)
    }
}

impl Failure {
    /// The error that a caller gets.
    pub(super) fn into_error(self) -> Error {
        match self {
            Self::Refused(error) => error,
            Self::Storage(error) => storage_error(&error),
        }
    }
}

/// Whether another connection holds what is needed, so that trying again helps. SQLite says that the locking
/// protocol failed when it met others at the log for many times in a row.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed)
    )
}

/// The error that a caller gets.
pub(super) fn storage_error(error: &rusqlite::Error) -> Error {
    let unavailable = |message| Error::new(Reason::StorageUnavailable, message);
    match error.sqlite_error_code() {
        _ if is_busy(error) => {
            unavailable("another process holds the store's file for longer than the busy timeout")
        }
        Some(ErrorCode::OutOfMemory) => no_room(),
        Some(ErrorCode::DiskFull) => unavailable("the disk is full"),
        Some(ErrorCode::ReadOnly) => unavailable("the store's file cannot be written"),
        Some(
            ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied,
        ) => unavailable("the store's file cannot be opened"),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => corrupt_file(),
        _ => unavailable("the store's file cannot be read or written"),
    }
}

/// The error of a commit. When the disk failed in it, a restart may find it done or not.
pub(super) fn commit_error(error: &rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(ErrorCode::SystemIoFailure) => {
            Error::new(Reason::OutcomeUnknown, "the disk failed while the change was made durable")
        }
        _ => storage_error(error),
    }
}

pub(super) fn corrupt_file() -> Error {
    Error::new(Reason::CorruptFile, "the file is damaged or is not a store of this library")
}
