//! Documents name the tests that show what they say: they must be there. A name in backticks is a file in `tests`, or
//! a test in the file named before it or beside the code; a vector, or a test of Node behind the file that has it, is named
//! in quotes. Python's tests are in `bindings/python/tests`, Node's in `bindings/node/tests`.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All files below a folder, in one text.
fn all_below(folder: &Path) -> String {
    let mut text = String::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "json") {
                text.push_str(&read(&path));
            }
        }
    }
    text
}

/// The test program `name`, with the modules in the folder of its name; `test_….py` is one of Python's, `….test.ts` of
/// Node's.
fn program(name: &str) -> Option<String> {
    if name.ends_with(".test.ts") {
        return Some(read(&root().join("bindings/node/tests").join(name)));
    }
    if Path::new(name).extension().is_some_and(|extension| extension == "py") {
        return Some(read(&root().join("bindings/python/tests").join(name)));
    }
    let (file, folder) = (root().join(format!("tests/{name}.rs")), root().join(format!("tests/{name}")));
    let text = [file.exists().then(|| read(&file)), folder.is_dir().then(|| all_below(&folder))];
    let text: Vec<String> = text.into_iter().flatten().collect();
    (!text.is_empty()).then(|| text.concat())
}

/// What stands between a pair of `mark`s.
fn between(text: &str, mark: char) -> impl Iterator<Item = &str> {
    text.split(mark).skip(1).step_by(2)
}

/// Checks the last column of the table below `heading`; gives how many tests it names.
fn checked(document: &str, heading: &str) -> usize {
    let document = read(&root().join(document));
    let section = document.split(heading).nth(1).unwrap().split("\n## ").next().unwrap();
    let (unit_tests, vectors) = (all_below(&root().join("src")), all_below(&root().join("tests/vectors")));
    let mut named = 0;
    for line in section.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| what")) {
        let last = line.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        let mut source = String::new();
        for name in between(last, '`') {
            if let Some(text) = program(name) {
                source = text;
                named += 1;
            } else if name.contains('_') && !name.contains('.') {
                let function = format!("fn {name}()");
                assert!(
                    source.contains(&function)
                        || source.contains(&format!("def {name}("))
                        || unit_tests.contains(&function),
                    "there is no test {name}"
                );
                named += 1;
            } else if name.contains('/') {
                assert!(root().join(name).exists(), "there is no {name}");
            }
        }
        for name in between(last, '"') {
            assert!(
                vectors.contains(&format!("\"name\": \"{name}\""))
                    || source.contains(&format!("('{name}', ")),
                "there is no vector or test {name}"
            );
            named += 1;
        }
    }
    named
}

#[test]
fn of_the_faults_that_a_store_on_sqlite_survives() {
    let named = checked("docs/operations.md", "\n## What goes wrong");
    assert!(named >= 35, "only {named} tests are named");
}

#[test]
fn of_the_faults_that_were_found() {
    let named = checked("docs/verification.md", "\n## What was found");
    assert!(named >= 25, "only {named} tests are named");
}
