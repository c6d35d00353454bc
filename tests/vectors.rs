//! Plays the language-neutral vectors in `tests/vectors` through the C functions, on the store that
//! `TASKHOLD_VECTOR_STORE` names (`memory:` unless given). The format is described in
//! `tests/vectors/README.md`; other languages have runners of their own for the same files.

mod vectors_runner;

use std::collections::BTreeSet;

use vectors_runner::{calls, format, play};

/// What a vector cannot express: a callback into host code. `taskhold_string_free` is called for every output.
const OUT_OF_REACH: [&str; 3] =
    ["taskhold_string_free", "taskhold_manager_subscribe", "taskhold_subscription_close"];

#[test]
fn every_case_holds() {
    let cases = format::load();
    let only = std::env::var("TASKHOLD_VECTOR_CASE").ok();
    let target = play::Target::from_environment();
    let mut played = 0;
    let mut failures = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        if !case.is_for(&target.backend) || only.as_ref().is_some_and(|only| !case.title().contains(only)) {
            continue;
        }
        played += 1;
        if let Err(failure) = play::play(case, &target, number) {
            failures.push(format!("{}\n    {}", case.title(), failure.replace('\n', "\n    ")));
        }
    }
    println!("{played} of {} cases played on {}", cases.len(), target.backend);
    assert!(failures.is_empty(), "{} of {played} cases failed:\n\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn the_vectors_are_many_and_reach_every_function() {
    let cases = format::load();
    println!("{} cases", cases.len());
    assert!(cases.len() >= 200, "there are only {} cases", cases.len());

    let mut names = BTreeSet::new();
    for case in &cases {
        assert!(names.insert(case.title()), "two cases are called {}", case.title());
    }

    let used: BTreeSet<&str> =
        cases.iter().flat_map(|case| &case.steps).map(|step| step.function.name).collect();
    let missing: Vec<&str> =
        calls::FUNCTIONS.iter().map(|function| function.name).filter(|name| !used.contains(name)).collect();
    assert!(missing.is_empty(), "no vector calls {missing:?}");
}

#[test]
fn the_table_of_calls_is_the_whole_header() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/include/taskhold.h");
    let header = std::fs::read_to_string(path).expect("the header is committed");
    let declared: BTreeSet<&str> = header
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '(')
        .filter_map(|word| word.split_once('(').map(|(name, _)| name))
        .filter(|name| name.starts_with("taskhold_"))
        .collect();
    let mut known: BTreeSet<&str> = calls::FUNCTIONS.iter().map(|function| function.symbol).collect();
    known.extend(OUT_OF_REACH);
    assert_eq!(declared, known);
}
