//! Files that are generated and committed: a test compares them, `TASKHOLD_BLESS=1` rewrites them.

use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Checks that the file `path` holds `expected`, or makes it so.
pub fn check(path: &str, expected: &str) {
    let file = root().join(path);
    if std::env::var_os("TASKHOLD_BLESS").is_some_and(|value| value == "1") {
        std::fs::create_dir_all(file.parent().unwrap_or(Path::new("."))).expect("the directory is there");
        std::fs::write(&file, expected).expect("the file can be written");
        return;
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    let difference = found.lines().zip(expected.lines()).position(|(found, expected)| found != expected);
    let line = difference.unwrap_or_else(|| found.lines().count().min(expected.lines().count())) + 1;
    assert!(
        found == expected,
        "{path} is out of date from line {line} on:\n  found: {:?}\n  now:   {:?}\nrun with TASKHOLD_BLESS=1",
        found.lines().nth(line - 1),
        expected.lines().nth(line - 1),
    );
}
