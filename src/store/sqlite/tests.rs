//! What a table on SQLite promises.
