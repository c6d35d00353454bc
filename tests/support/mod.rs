//! What the tests of the exports share.

#![allow(dead_code, reason = "each test uses a part of it")]

pub mod generated;
pub mod header;
