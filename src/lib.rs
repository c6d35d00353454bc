//! taskhold keeps the state of AI-agent servers for any host that can call C: MCP tasks, MCP sessions
//! and A2A task state. It holds state and enforces its rules; the application does the work.
//!
//! Data goes down one stair: host -> [`ffi`] -> one of the domain rooms ([`task`], [`session`], [`a2a`])
//! -> [`store`]. The rules of a domain are pure functions; a store knows rows and no rule; unsafe code
//! lives in [`ffi`] only. The public interface is the C ABI in `include/taskhold.h`: as a Rust crate it has none. The
//! feature `internals` makes the modules public for this crate's own tests and benches, which switch it on by
//! themselves; nothing about them is stable.

#![cfg_attr(not(feature = "sqlite"), allow(dead_code, reason = "what stores of several processes need"))]

#[cfg(not(panic = "unwind"))]
compile_error!("taskhold must be built with panic = \"unwind\": a panic must not end the host");

#[cfg(not(target_pointer_width = "64"))]
compile_error!("taskhold supports 64-bit targets only: a handle is a 64-bit token in a pointer");

mod claimers;
mod options;
mod page_token;
mod reason;
mod sync;

// What the tests and benches see.
#[cfg(feature = "internals")]
pub mod a2a;
#[cfg(feature = "internals")]
pub mod clock;
#[cfg(feature = "internals")]
pub mod error;
#[cfg(feature = "internals")]
pub mod events;
#[cfg(feature = "internals")]
pub mod fault;
#[cfg(feature = "internals")]
pub mod ffi;
#[cfg(feature = "internals")]
pub mod json;
#[cfg(feature = "internals")]
pub mod session;
#[cfg(feature = "internals")]
pub mod store;
#[cfg(feature = "internals")]
pub mod task;
#[cfg(feature = "internals")]
pub mod text;
#[cfg(feature = "internals")]
pub mod time;

#[cfg(not(feature = "internals"))]
mod a2a;
#[cfg(not(feature = "internals"))]
mod clock;
#[cfg(not(feature = "internals"))]
mod error;
#[cfg(not(feature = "internals"))]
mod events;
#[cfg(not(feature = "internals"))]
mod fault;
#[cfg(not(feature = "internals"))]
mod ffi;
#[cfg(not(feature = "internals"))]
mod json;
#[cfg(not(feature = "internals"))]
mod session;
#[cfg(not(feature = "internals"))]
mod store;
#[cfg(not(feature = "internals"))]
mod task;
#[cfg(not(feature = "internals"))]
mod text;
#[cfg(not(feature = "internals"))]
mod time;
