//! taskhold keeps the state of AI-agent servers for any host that can call C: MCP tasks, MCP sessions
//! and A2A task state. It holds state and enforces its rules; the application does the work.
//!
//! Data goes down one stair: host -> [`ffi`] -> one of the domain rooms ([`task`], [`session`], [`a2a`])
//! -> [`store`]. The rules of a domain are pure functions; a store knows rows and no rule; unsafe code
//! lives in [`ffi`] only. The public interface is the C ABI in `include/taskhold.h`; the Rust modules
//! are public for this crate's own tests and benches and promise no stability.

#[cfg(not(panic = "unwind"))]
compile_error!("taskhold must be built with panic = \"unwind\": a panic must not end the host");

#[cfg(not(target_pointer_width = "64"))]
compile_error!("taskhold supports 64-bit targets only: a handle is a 64-bit token in a pointer");

pub mod a2a;
pub mod clock;
pub mod error;
pub mod events;
pub mod fault;
pub mod ffi;
pub mod json;
pub mod options;
pub mod reason;
pub mod session;
pub mod store;
mod sync;
pub mod task;
pub mod text;
pub mod time;
