//! What went wrong on the way to the server and back, and what that means to a caller: whether the change may have been
//! made, whether trying again helps, and fixed words that say what an operator can do.

#![forbid(unsafe_code)]

use crate::error::{Error, Reason};

/// A failure of the server or of the way to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The server refused a statement; nothing of its transaction stays.
    Server([u8; 5]),
    /// No connection could be made.
    Connect(&'static str),
    /// The connection broke. What was sent may have been done.
    Lost,
    /// The connection broke before all was sent.
    NotSent,
    /// No answer within the time that a statement may take.
    TimedOut,
    /// No connection of the pool became free.
    PoolExhausted,
    /// The server said something that this library does not expect.
    Protocol,
    /// There was no memory for what a column holds.
    NoRoom,
}

/// Why a step in a transaction did not come to an end.
#[derive(Debug)]
pub(super) enum Failure {
    /// A rule or a limit refuses it; the storage is well.
    Refused(Error),
    /// The storage failed.
    Storage(Fault),
    /// Others changed what was read; it is to be read again.
    Again,
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Storage(fault)
    }
}

pub(super) const SERIALIZATION_FAILURE: [u8; 5] = *b"40001";
pub(super) const DEADLOCK_DETECTED: [u8; 5] = *b"40P01";
pub(super) const UNIQUE_VIOLATION: [u8; 5] = *b"23505";

impl Fault {
    /// Whether the server chose this transaction to give way to others.
    pub(super) fn gave_way(self) -> bool {
        self.is(SERIALIZATION_FAILURE) || self.is(DEADLOCK_DETECTED)
    }

    pub(super) fn is(self, wanted: [u8; 5]) -> bool {
        self == Self::Server(wanted)
    }

    /// Whether a new connection may do better, while nothing of this attempt stays.
    pub(super) fn is_of_the_connection(self) -> bool {
        match self {
            Self::Lost | Self::NotSent => true,
            // The server goes down, or ended the connection; or the pooler did.
            Self::Server(state) => {
                matches!(&state, b"57P01" | b"57P02" | b"57P03") || state.starts_with(b"08")
            }
            _ => false,
        }
    }

    /// The error that a caller gets, when it is certain that nothing was changed.
    pub(super) fn into_error(self) -> Error {
        let unavailable = |message| Error::new(Reason::StorageUnavailable, message);
        match self {
            Self::Server(state) => server_error(state),
            Self::Connect(message) => unavailable(message),
            Self::Lost | Self::NotSent => unavailable("the connection to the database server broke"),
            Self::TimedOut => unavailable("the database server did not answer within the statement timeout"),
            Self::PoolExhausted => {
                unavailable("no connection to the database became free within the acquire timeout")
            }
            Self::Protocol => unavailable("the database server gave an answer that is not understood"),
            Self::NoRoom => crate::text::no_room(),
        }
    }

    /// The error that a caller gets, when the change may have been made.
    pub(super) fn into_commit_error(self) -> Error {
        match self {
            Self::Lost | Self::TimedOut | Self::Protocol => Error::new(
                Reason::OutcomeUnknown,
                "the connection to the database server went while the change was made durable",
            ),
            other => other.into_error(),
        }
    }
}

fn server_error(state: [u8; 5]) -> Error {
    let unavailable = |message| Error::new(Reason::StorageUnavailable, message);
    match &state {
        b"28P01" | b"28000" => unavailable("the database server refuses the user or the password"),
        b"3D000" => unavailable("the database server has no such database"),
        b"42501" => unavailable("the database role lacks a right that the store needs"),
        b"25006" => unavailable("the database server only reads: it is a standby, or set to read-only"),
        b"53300" => unavailable("the database server has no connection left"),
        b"53100" => unavailable("the disk of the database server is full"),
        b"53200" => unavailable("the database server has no memory left"),
        b"57014" => {
            unavailable("the database server ended a statement that took longer than the statement timeout")
        }
        b"55P03" => {
            unavailable("another transaction holds what is needed for longer than the statement timeout")
        }
        b"57P01" | b"57P02" | b"57P03" => unavailable("the database server is starting or stopping"),
        b"3F000" | b"42P01" | b"42703" | b"42883" => {
            unavailable("the database lacks tables of the store, or has those of another version")
        }
        // A pooler in front of the server gave the connection to somebody else between two statements.
        b"26000" | b"42P05" | b"34000" => unavailable(
            "the server lost a prepared statement: behind a pooler in transaction mode, set the option poolerSafe",
        ),
        _ if state.starts_with(b"40") => {
            unavailable("the database server ended the transaction in favour of others, repeatedly")
        }
        _ => unavailable("the database server refused a statement"),
    }
}
