//! The exported C functions.
