//! The table of handles, and its models.

#[path = "../../../../src/ffi/free_list.rs"]
mod free_list;
#[path = "../../../../src/ffi/handle.rs"]
mod handle;

pub mod models;

/// There are no forks here.
mod fork {
    use crate::sync::atomic::AtomicU64;

    pub(super) static LIVE_HANDLES: AtomicU64 = AtomicU64::new(0);

    pub(super) fn epoch() -> u64 {
        0
    }
}
