//! Pieces of SQL that many statements have.

#![forbid(unsafe_code)]

/// The server's time in milliseconds since 1970, whatever its time zone is.
macro_rules! server_ms {
    () => {
        "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    };
}
pub(super) use server_ms;

/// The store's time where `$2` is that of a clock that is moved by hand, or NULL: read once in a statement, so that an
/// index can be looked through by it.
macro_rules! now {
    () => {
        concat!("(SELECT coalesce($2::bigint, ", $crate::store::postgres::statement_text::server_ms!(), "))")
    };
}
pub(super) use now;
