//! The session store as a host sees it, over the memory store on a clock that is moved by hand.

mod create;
mod expiry;
mod listing;
mod model;
mod pins;
mod races;
mod replace;
mod support;
