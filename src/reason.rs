//! What a call can come to: the closed lists of statuses and of the reasons that belong to them. They need nothing
//! else of the crate, so that whatever generates the C header can read them too.

#![forbid(unsafe_code)]

use std::ffi::CStr;

/// Declares a closed list. A member's name and its one sentence of documentation are also what the C header
/// and `docs/errors.md` say of it.
macro_rules! closed_list {
    ($(#[$doc:meta])* $list:ident: $($(#[doc = $sentence:literal])+ $member:ident = $name:literal),+ $(,)?) => {
        $(#[$doc])*
        #[allow(dead_code, reason = "a member may be for another platform or build")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $list { $($(#[doc = $sentence])+ $member),+ }

        #[allow(dead_code, reason = "what the header and `docs/errors.md` are made of is for their generator alone")]
        impl $list {
            /// Every member, in order.
            pub const ALL: &'static [$list] = &[$($list::$member),+];

            /// The name that the C ABI gives out.
            pub const fn name(self) -> &'static str {
                match self { $($list::$member => $name),+ }
            }

            /// [`Self::name`] as a C string.
            pub const fn c_name(self) -> &'static CStr {
                match self { $($list::$member => const { c_str(concat!($name, "\0")) }),+ }
            }

            /// What the member means, in one sentence.
            pub const fn description(self) -> &'static str {
                match self { $($list::$member => concat!($($sentence),+).trim_ascii()),+ }
            }
        }
    };
}

const fn c_str(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a name holds no NUL but its last byte"),
    }
}

closed_list! {
    /// What came of a call. The numbers are part of the ABI and never change.
    Status:
    /// The call did what it says.
    Ok = "ok",
    /// An argument is malformed; the call cannot succeed as it stands.
    InvalidArgument = "invalid_argument",
    /// The handle is NULL, closed, forged, of another kind, or was made before a fork.
    InvalidHandle = "invalid_handle",
    /// The task is absent, expired, or not visible to the caller.
    NotFound = "not_found",
    /// A rule of the state machine refuses the call.
    InvalidState = "invalid_state",
    /// The store is full; an unexpired record is never evicted.
    CapacityExhausted = "capacity_exhausted",
    /// An argument is larger or deeper than a limit.
    LimitExceeded = "limit_exceeded",
    /// An expected revision did not match, or an id is taken.
    Conflict = "conflict",
    /// Nothing happened within the time given.
    Timeout = "timeout",
    /// The handle was closed while the call waited.
    Closed = "closed",
    /// The storage failed; a retry may help.
    Unavailable = "unavailable",
    /// A stored row cannot be read.
    Corrupt = "corrupt",
    /// This build or platform cannot do it.
    Unsupported = "unsupported",
    /// A defect of the library; state is as before the call.
    Internal = "internal",
}

impl Status {
    /// The number that the C ABI gives out.
    pub const fn code(self) -> i32 {
        match self {
            Self::Ok => 0,
            Self::InvalidArgument => 1,
            Self::InvalidHandle => 2,
            Self::NotFound => 3,
            Self::InvalidState => 4,
            Self::CapacityExhausted => 5,
            Self::LimitExceeded => 6,
            Self::Conflict => 7,
            Self::Timeout => 8,
            Self::Closed => 9,
            Self::Unavailable => 10,
            Self::Corrupt => 11,
            Self::Unsupported => 12,
            Self::Internal => 99,
        }
    }

    /// The status with this number.
    pub fn from_code(code: i32) -> Option<Self> {
        Self::ALL.iter().copied().find(|status| status.code() == code)
    }
}

closed_list! {
    /// Why a call was refused: more exact than its status. Names are part of the ABI and never change.
    Reason:
    /// A pointer that must not be NULL is NULL; `key` names the parameter.
    NullArgument = "null_argument",
    /// A string is not valid UTF-8.
    InvalidUtf8 = "invalid_utf8",
    /// A text is not well-formed JSON (RFC 8259), or has a byte order mark.
    InvalidJson = "invalid_json",
    /// An object in a JSON text has the same member twice.
    DuplicateKey = "duplicate_key",
    /// A string in a JSON text has an escaped surrogate without its other half.
    LoneSurrogate = "lone_surrogate",
    /// A string holds U+0000 where it must cross as a C string or is an endpoint, partition or name.
    EmbeddedNul = "embedded_nul",
    /// An object that this library defines has a member that it does not know; `key` names it.
    UnknownKey = "unknown_key",
    /// An object that this library defines lacks a required member; `key` names it.
    MissingKey = "missing_key",
    /// A value has the wrong type, form or range; `key` names it, `limit` says which bound it broke.
    InvalidValue = "invalid_value",
    /// A task, session or context id is empty, blank, too long, or has a forbidden character.
    InvalidIdentifier = "invalid_identifier",
    /// A timestamp is not in the accepted form.
    InvalidTimestamp = "invalid_timestamp",
    /// A payload is JSON, but not of the shape that its place asks for.
    InvalidPayload = "invalid_payload",
    /// The map of input requests has no member.
    EmptyInputRequests = "empty_input_requests",
    /// An input request reuses a key that this task has used before.
    InputRequestKeyReused = "input_request_key_reused",
    /// A page token is malformed, or belongs to other filters or to another owner.
    InvalidPageToken = "invalid_page_token",
    /// A store URL is not of a known form.
    InvalidStoreUrl = "invalid_store_url",
    /// A session's replacement changes what may not change.
    InvalidReplacement = "invalid_replacement",
    /// The handle is NULL.
    Null = "null",
    /// The handle is closed.
    Closed = "closed",
    /// The value was never given out as a handle of this kind.
    Foreign = "foreign",
    /// The handle was made before a fork and belongs to the parent process.
    Forked = "forked",
    /// No such task, or it expired, or it is not the caller's.
    TaskNotFound = "task_not_found",
    /// The task is completed, failed or cancelled and does not change any more.
    TaskTerminal = "task_terminal",
    /// Accepted responses must be taken before another input round begins.
    InputResponsesUntaken = "input_responses_untaken",
    /// The client asked for cancelation and the call was made conditional on that.
    CancelationRequested = "cancelation_requested",
    /// The task was created with a queue or a lease, and the call does not say which lease it is made under.
    LeaseRequired = "lease_required",
    /// The task has no queue to go back to.
    NotQueued = "not_queued",
    /// The task's state may not be delivered to this client.
    Undeliverable = "undeliverable",
    /// A final A2A task is never taken back to a state that is not final.
    TaskFinal = "task_final",
    /// The store that is copied to has records already.
    StoreNotEmpty = "store_not_empty",
    /// The limit of retained records is reached.
    CapacityExhausted = "capacity_exhausted",
    /// The limit of retained tasks of one authorization partition is reached.
    PartitionCapacityExhausted = "partition_capacity_exhausted",
    /// A payload or argument has more bytes than `limit`.
    PayloadTooLarge = "payload_too_large",
    /// A JSON text is nested deeper than `limit`.
    NestingTooDeep = "nesting_too_deep",
    /// The record has another revision than expected.
    RevisionMismatch = "revision_mismatch",
    /// The lease is not the task's current one, or the task has none.
    LeaseLost = "lease_lost",
    /// The operation id belongs to a task with another queue or other work.
    OperationMismatch = "operation_mismatch",
    /// The session id is in use.
    SessionIdInUse = "session_id_in_use",
    /// Somebody wrote to a store while it was copied, or to the copy.
    StoreChanged = "store_changed",
    /// Nothing happened within the time given.
    Timeout = "timeout",
    /// The handle was closed while the call waited.
    ClosedWhileWaiting = "closed_while_waiting",
    /// The storage failed; a retry may help.
    StorageUnavailable = "storage_unavailable",
    /// The connection went during the commit: it may or may not have happened.
    OutcomeUnknown = "outcome_unknown",
    /// A stored row cannot be read.
    CorruptRow = "corrupt_row",
    /// The store's file is damaged, or is not a store of this library.
    CorruptFile = "corrupt_file",
    /// This build has no such storage backend.
    UnsupportedBackend = "unsupported_backend",
    /// This platform cannot do it.
    UnsupportedPlatform = "unsupported_platform",
    /// The store was written by a newer version of this library; `limit` is the newest schema it can read.
    SchemaTooNew = "schema_too_new",
    /// The store's file is on a network file system; `key` names the option that allows it.
    UnsupportedFileSystem = "unsupported_file_system",
    /// The operating system refused a resource: memory, random numbers or a descriptor.
    SystemResource = "system_resource",
    /// A defect of the library was caught; state is as before the call.
    Panic = "panic",
}

impl Reason {
    /// The status this reason belongs to.
    pub const fn status(self) -> Status {
        match self {
            Self::NullArgument
            | Self::InvalidUtf8
            | Self::InvalidJson
            | Self::DuplicateKey
            | Self::LoneSurrogate
            | Self::EmbeddedNul
            | Self::UnknownKey
            | Self::MissingKey
            | Self::InvalidValue
            | Self::InvalidIdentifier
            | Self::InvalidTimestamp
            | Self::InvalidPayload
            | Self::EmptyInputRequests
            | Self::InputRequestKeyReused
            | Self::InvalidPageToken
            | Self::InvalidStoreUrl
            | Self::InvalidReplacement => Status::InvalidArgument,
            Self::Null | Self::Closed | Self::Foreign | Self::Forked => Status::InvalidHandle,
            Self::TaskNotFound => Status::NotFound,
            Self::TaskTerminal
            | Self::InputResponsesUntaken
            | Self::CancelationRequested
            | Self::LeaseRequired
            | Self::NotQueued
            | Self::Undeliverable
            | Self::TaskFinal
            | Self::StoreNotEmpty => Status::InvalidState,
            Self::CapacityExhausted | Self::PartitionCapacityExhausted => Status::CapacityExhausted,
            Self::PayloadTooLarge | Self::NestingTooDeep => Status::LimitExceeded,
            Self::RevisionMismatch
            | Self::LeaseLost
            | Self::OperationMismatch
            | Self::SessionIdInUse
            | Self::StoreChanged => Status::Conflict,
            Self::Timeout => Status::Timeout,
            Self::ClosedWhileWaiting => Status::Closed,
            Self::StorageUnavailable | Self::OutcomeUnknown => Status::Unavailable,
            Self::CorruptRow | Self::CorruptFile => Status::Corrupt,
            Self::UnsupportedBackend
            | Self::UnsupportedPlatform
            | Self::SchemaTooNew
            | Self::UnsupportedFileSystem => Status::Unsupported,
            Self::SystemResource | Self::Panic => Status::Internal,
        }
    }
}
