//! The interpreter of the vectors: `format` reads and checks the files, `calls` is the table of C functions,
//! `values` makes arguments out of JSON, `matching` compares outputs, `play` plays a case.

pub mod calls;
pub mod format;
pub mod matching;
pub mod play;
pub mod values;
