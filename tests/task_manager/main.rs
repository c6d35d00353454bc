//! The task manager over a store in memory, on a clock that stands still unless a test moves it.

mod authorization;
mod events;
mod life;
mod listing;
mod queue;
mod races;
mod rpc;
#[path = "../stores/mod.rs"]
mod stores;
mod support;
mod waiting;
