//! What networks, servers, poolers and administrators do to a store on PostgreSQL.

#[path = "../stores/mod.rs"]
mod stores;

mod access;
mod contention;
mod cuts;
mod pooler;
mod proxy;
mod schema;
