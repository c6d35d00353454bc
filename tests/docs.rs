//! The documents say what the code does: every reason stands in `docs/errors.md` under its status, and every row
//! of `docs/seeds.md` names functions that the header has and tests that exist.

mod clients;

use std::collections::{BTreeMap, BTreeSet};

use clients::{read, root};
use taskhold::error::{Reason, Status};

/// The cells of the rows of all tables in `document`, without header and rule.
fn rows(document: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut lines = document.lines().peekable();
    while let Some(line) = lines.next() {
        let heads_a_table = lines.peek().is_some_and(|next| next.starts_with("|---"));
        if line.starts_with('|') && !line.starts_with("|---") && !heads_a_table {
            // A bar inside a cell is written as \|.
            let line = line.replace("\\|", "\u{1}");
            let cells = line.trim_matches('|').split('|');
            rows.push(cells.map(|cell| cell.trim().replace('\u{1}', "|")).collect());
        }
    }
    rows
}

/// What stands in backticks.
fn code(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_reason_is_documented_once_under_its_status() {
    let document = read("docs/errors.md");
    let mut documented = BTreeMap::new();
    for section in document.split("\n## ").skip(1) {
        let heading = section.lines().next().unwrap();
        let status = Status::ALL.iter().find(|s| heading == format!("`{}` ({})", s.name(), s.code()));
        let status = status.unwrap_or_else(|| panic!("{heading:?} is no status with its number"));
        for row in rows(section) {
            let [reason, when, what_to_do] = &row[..] else { panic!("a row has three cells: {row:?}") };
            assert!(!when.is_empty() && !what_to_do.is_empty(), "{reason} lacks words");
            let reason = code(reason)[0].to_owned();
            assert!(documented.insert(reason.clone(), *status).is_none(), "{reason} stands twice");
        }
    }
    let expected: BTreeMap<_, _> = Reason::ALL.iter().map(|r| (r.name().to_owned(), r.status())).collect();
    let named = |map: &BTreeMap<String, Status>| -> Vec<String> {
        map.iter().map(|(reason, status)| format!("{reason} is {}", status.name())).collect()
    };
    assert_eq!(named(&documented), named(&expected));
}

#[test]
fn functions_in_the_documents_exist() {
    let header = read("include/taskhold.h");
    for document in ["README.md", "docs/errors.md", "docs/seeds.md"] {
        for word in read(document).split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
            if word.starts_with("taskhold_") && !word.ends_with('_') {
                assert!(has_word(&header, word), "{document} names {word}, which the header has not");
            }
        }
    }
}

/// Whether `word` stands in `text` and is not part of a longer name.
fn has_word(text: &str, word: &str) -> bool {
    let joins = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
    text.match_indices(word).any(|(at, _)| {
        !joins(text[..at].chars().next_back()) && !joins(text[at + word.len()..].chars().next())
    })
}

/// `fn name` of every test in a Rust file, with `path::to::file` as the prefix.
fn rust_tests(path: &str) -> BTreeSet<String> {
    let text = read(path);
    let mut names = BTreeSet::new();
    for rest in text.split("#[test]").skip(1) {
        let name = rest.split("fn ").nth(1).unwrap().split('(').next().unwrap();
        names.insert(name.to_owned());
    }
    names
}

/// The names of the cases of a file of vectors.
fn vector_cases(path: &str) -> BTreeSet<String> {
    let vectors: serde_json::Value = serde_json::from_str(&read(path)).unwrap();
    let cases = vectors["cases"].as_array().unwrap_or_else(|| panic!("{path} has no cases"));
    cases.iter().map(|case| case["name"].as_str().unwrap().to_owned()).collect()
}

/// Checks a reference `path#name`: a test of a Rust file, a function of a C client, or a case of a file of vectors.
fn check_test(reference: &str) {
    let (path, name) = reference.split_once('#').unwrap_or_else(|| panic!("{reference:?} is no path#name"));
    assert!(root().join(path).exists(), "{path} is not there");
    let exists = match path.rsplit('.').next().unwrap() {
        "rs" => rust_tests(path).contains(name),
        "json" => vector_cases(path).contains(name),
        "c" | "cpp" => has_word(&read(path), name),
        other => panic!("{reference:?}: nobody knows tests in a .{other} file"),
    };
    assert!(exists, "{path} has no test {name}");
}

#[test]
fn every_sentence_of_the_seeds_has_a_function_and_a_test_or_is_the_hosts() {
    let document = read("docs/seeds.md");
    let header = read("include/taskhold.h");
    let mut sentences = BTreeSet::new();
    for section in document.split("\n## ").skip(1) {
        for row in rows(section) {
            let [sentence, kept_by, shown_by] = &row[..] else { panic!("a row has three cells: {row:?}") };
            assert!(sentence.len() > 10, "{row:?} quotes no sentence");
            assert!(sentences.insert(sentence.clone()), "{sentence:?} stands twice in one table");
            let functions = code(kept_by);
            if kept_by.starts_with("the host") {
                assert!(shown_by.len() > 10, "{sentence:?}: say why this is the host's");
                continue;
            }
            assert!(!functions.is_empty(), "{sentence:?} has no function");
            for function in functions {
                assert!(has_word(&header, function), "{sentence:?}: the header has no {function}");
            }
            let tests = code(shown_by);
            assert!(!tests.is_empty(), "{sentence:?} has no test");
            tests.into_iter().for_each(check_test);
        }
        sentences.clear();
    }
}

#[test]
fn every_dependency_has_a_row_that_says_why_it_was_taken() {
    let decisions = read("docs/decisions.md");
    let taken =
        decisions.split("\n## ").find(|section| section.starts_with("Dependencies taken")).expect("there");
    let manifest = read("Cargo.toml");
    let sections = manifest
        .split("\n[")
        .filter(|section| section.split_once(']').is_some_and(|(name, _)| name.ends_with("dependencies")));
    let names: BTreeSet<&str> = sections
        .flat_map(|section| section.lines().skip(1))
        .filter_map(|line| line.split_once(" = ").map(|(name, _)| name))
        .filter(|name| !name.starts_with('#') && *name != "taskhold")
        .collect();
    assert!(names.len() > 10, "the manifest was read");
    for name in names {
        assert!(
            rows(taken).iter().any(|row| code(&row[0]).contains(&name)),
            "docs/decisions.md lacks {name}"
        );
    }
}
