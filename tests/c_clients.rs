//! The C and C++ clients in `tests/c` and `tests/cpp`: built by every compiler that is there, against the shared
//! and the static library, run plain and with sanitizers. With `TASKHOLD_VALGRIND=1` (`make verify`) the plain
//! ones run under valgrind.

mod clients;

use clients::{Check, Link, Program, installed, run, static_system_libraries, text};

const C_CLIENTS: [&str; 5] = ["lifecycle", "errors", "events", "threads", "fork"];

/// gcc must be there; clang is used where it is installed.
fn compilers(always: &'static str, also: &'static str) -> Vec<&'static str> {
    if installed(also) { vec![always, also] } else { vec![always] }
}

fn build_and_run(program: &Program<'_>) {
    let executable = program.build();
    let output = run(&mut program.command(&executable));
    // A sanitizer or valgrind that only reports would print and go on.
    assert_eq!(text(&output.stderr), "", "{program:?} printed to standard error");
}

fn c_clients(compiler: &str, link: Link, check: Check) {
    for name in C_CLIENTS {
        let source = format!("tests/c/{name}.c");
        build_and_run(&Program { name, sources: &[&source, "tests/c/check.c"], compiler, link, check });
    }
}

fn cpp_client(compiler: &str, link: Link, check: Check) {
    let sources = &["tests/cpp/two_units_a.cpp", "tests/cpp/two_units_b.cpp", "tests/cpp/check.cpp"];
    build_and_run(&Program { name: "two_units", sources, compiler, link, check });
}

#[test]
fn c_clients_run_against_the_shared_library() {
    for compiler in compilers("gcc", "clang") {
        c_clients(compiler, Link::Shared, Check::Plain);
    }
}

#[test]
fn c_clients_run_against_the_static_library() {
    for compiler in compilers("gcc", "clang") {
        c_clients(compiler, Link::Static, Check::Plain);
    }
}

#[test]
fn c_clients_run_with_sanitizers() {
    c_clients("gcc", Link::Shared, Check::Sanitizers);
    c_clients("gcc", Link::Static, Check::Sanitizers);
}

#[test]
fn cpp_client_of_two_units_runs() {
    for compiler in compilers("g++", "clang++") {
        cpp_client(compiler, Link::Shared, Check::Plain);
        cpp_client(compiler, Link::Static, Check::Plain);
    }
    cpp_client("g++", Link::Shared, Check::Sanitizers);
}

#[test]
fn link_line_for_the_static_library_is_documented() {
    let line = static_system_libraries().join(" ");
    assert!(line.contains("-lc"), "rustc named no system libraries: {line:?}");
    let readme = clients::read("README.md");
    assert!(readme.contains(&line), "README.md does not name the link line {line:?}");
}
