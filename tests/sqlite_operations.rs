//! `docs/operations.md` names a test for each fault that a store on SQLite survives: they must be there.

use std::path::Path;

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What stands between backticks.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn every_test_that_the_table_of_faults_names_is_there() {
    let document = read("docs/operations.md");
    let table = document.split("\n## What goes wrong").nth(1).unwrap().split("\n## ").next().unwrap();
    let unit_tests = read("src/store/sqlite/tests.rs");
    let mut named = 0;
    for line in table.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| what")) {
        let last = line.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        let mut source = String::new();
        for name in code(last) {
            if Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/{name}.rs")).exists() {
                source = read(&format!("tests/{name}.rs"));
                named += 1;
            } else if name.contains('_') {
                let function = format!("fn {name}()");
                let is_there = source.contains(&function) || unit_tests.contains(&function);
                assert!(is_there, "there is no test {name}");
                named += 1;
            }
        }
    }
    assert!(named >= 35, "only {named} tests are named");
}
