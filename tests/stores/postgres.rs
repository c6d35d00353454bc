//! The PostgreSQL server that `scripts/postgres.sh` runs for a test: statements beside the library, by `psql`, and a
//! schema for each store.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// The URL of the tests' database, as its owner.
pub fn url() -> String {
    std::env::var("TASKHOLD_TEST_POSTGRES").expect("scripts/postgres.sh runs this test beside a server")
}

/// Runs statements at `url` and gives the rows' text, or what the server or `psql` complained of.
pub fn try_sql_at(url: &str, statements: &str) -> Result<String, String> {
    let output = Command::new("psql")
        .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", statements, url])
        .env("PGCONNECT_TIMEOUT", "20")
        .stdin(Stdio::null())
        .output()
        .expect("psql runs");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim_end().to_owned();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

/// Runs statements in the tests' database.
pub fn sql(statements: &str) -> String {
    try_sql_at(&url(), statements).unwrap_or_else(|complaint| panic!("{statements}: {complaint}"))
}

/// A schema of its own for a store. It is dropped with its owner.
pub struct Schema {
    pub name: String,
}

impl Schema {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { name: format!("test_{}_{number}", std::process::id()) }
    }

    /// Options that open a store in this schema.
    pub fn options(&self) -> String {
        self.options_with("{}")
    }

    /// These options, and this schema.
    pub fn options_with(&self, others: &str) -> String {
        let mut options: serde_json::Value = serde_json::from_str(others).expect("options are JSON");
        options["schema"] = self.name.as_str().into();
        options.to_string()
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        drop_schema(&self.name);
    }
}

/// Drops a schema and all that is in it, if it is there.
pub fn drop_schema(name: &str) {
    // A store that is just closing may still hold a lock for a moment.
    for _ in 0..3 {
        if try_sql_at(&url(), &format!("DROP SCHEMA IF EXISTS \"{name}\" CASCADE")).is_ok() {
            return;
        }
    }
}
