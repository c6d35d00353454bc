//! The exported C functions: the only public interface, and the only room with unsafe code. An export
//! clears its outputs, then, inside the one panic guard, looks its handle up, checks its pointers and
//! strings, calls the domain and hands texts out; it knows no rule. The documentation of the exports is
//! written for C: `include/taskhold.h` is generated from it by `tests/header.rs`, which also has its order.
//!
//! Unsafe code comes in three kinds, each in one place: pointers given by the host ([`args`]), strings that
//! go out and come back ([`block`]), and slots that live for ever ([`handle`]).

#![allow(
    clippy::doc_markdown,
    clippy::missing_safety_doc,
    clippy::too_many_arguments,
    non_camel_case_types,
    reason = "the documentation, the signatures and the names here are those of the C header"
)]

mod args;
mod block;
mod callback;
mod fork;
#[cfg(all(feature = "sqlite", target_os = "linux"))]
mod fork_sqlite;
mod free_list;
mod guard;
mod handle;

pub mod clock;
pub mod events;
pub mod library;
pub mod manager;
pub mod manager_events;
pub mod manager_protocol;
pub mod manager_queue;
pub mod manager_worker;
pub mod session_store;
pub mod state_provider;
pub mod state_provider_events;
pub mod state_provider_push;
pub mod status;
pub mod store;
pub mod string;

#[cfg(feature = "internals")]
pub use self::{
    clock::*, events::*, library::*, manager::*, manager_events::*, manager_protocol::*, manager_queue::*,
    manager_worker::*, session_store::*, state_provider::*, state_provider_events::*, state_provider_push::*,
    status::*, store::*, string::*,
};
