//! The interpreter of the vectors: `format` reads and checks the files, `calls` is the table of C functions,
//! `values` makes arguments out of JSON, `matching` compares outputs, `play` plays a case.

pub mod calls;
pub mod format;
pub mod matching;
pub mod play;
#[allow(dead_code, reason = "a case needs one function of it")]
#[path = "../stores/postgres.rs"]
pub mod postgres;
pub mod values;
