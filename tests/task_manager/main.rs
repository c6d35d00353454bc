//! The task manager over a store in memory, on a clock that stands still unless a test moves it.

mod authorization;
mod events;
mod life;
mod listing;
mod races;
mod rpc;
mod support;
mod waiting;
