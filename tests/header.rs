//! `include/taskhold.h` is what cbindgen makes of `src/ffi`, and compiles cleanly as every C and C++ that a
//! host may use. Run with `TASKHOLD_BLESS=1` to rewrite the files that are generated.

#[path = "../packaging/header.rs"]
mod generator;
mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::generated;

fn generate_header() -> String {
    generator::generate(&generated::root())
}

#[test]
fn the_header_is_up_to_date() {
    generated::check("include/taskhold.h", &generate_header());
}

/// The build script's own, which ran before this was compiled.
#[test]
#[cfg(feature = "header")]
fn a_build_with_the_feature_writes_the_same_header() {
    assert!(include_str!(concat!(env!("OUT_DIR"), "/taskhold.h")) == generate_header());
}

/// The names that a C compiler sees: identifiers outside of comments and strings.
fn identifiers(header: &str) -> Vec<String> {
    let mut code = String::new();
    let mut rest = header;
    while let Some((before, comment)) = rest.split_once("/*") {
        code.push_str(before);
        rest = comment.split_once("*/").expect("comments end").1;
    }
    code.push_str(rest);
    code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').map(str::to_owned).collect()
}

#[test]
fn every_name_in_the_header_has_the_prefix() {
    let header = generate_header();
    let mut declared = 0;
    let names = identifiers(&header);
    for (before, name) in names.iter().zip(&names[1..]) {
        let is_declared = before == "define" || name.contains("taskhold") || name.contains("TASKHOLD");
        if is_declared {
            assert!(name.starts_with("taskhold_") || name.starts_with("TASKHOLD_"), "{name}");
            declared += 1;
        }
    }
    assert!(declared > 100, "the header was read");
    for line in header.lines().filter(|line| line.starts_with("typedef")) {
        let name = line.trim_end_matches(';').rsplit(' ').next().expect("a name");
        assert!(name.starts_with("taskhold_"), "{line}");
    }
}

#[test]
fn every_export_has_documentation_of_every_parameter_and_of_threads() {
    let header = generate_header();
    for function in support::header::functions(&header) {
        let documentation = &function.documentation;
        for parameter in &function.parameters {
            let tag = format!("@param {} ", parameter.name);
            assert!(documentation.contains(&tag), "{}: {}", function.name, parameter.name);
        }
        assert_eq!(documentation.matches("@param").count(), function.parameters.len(), "{}", function.name);
        assert!(documentation.contains("@note"), "{}", function.name);
        assert_eq!(documentation.contains("@return"), function.returns != "void", "{}", function.name);
    }
}

struct Compiler {
    program: &'static str,
    standards: &'static [&'static str],
    extra: &'static [&'static str],
    source: &'static str,
}

const C_STANDARDS: &[&str] = &["c99", "c11", "c17", "c2x"];
const CPP_STANDARDS: &[&str] = &["c++11", "c++14", "c++17", "c++20"];

const COMPILERS: [Compiler; 4] = [
    Compiler { program: "gcc", standards: C_STANDARDS, extra: &["-Wstrict-prototypes"], source: "c" },
    Compiler { program: "clang", standards: C_STANDARDS, extra: &["-Wstrict-prototypes"], source: "c" },
    Compiler { program: "g++", standards: CPP_STANDARDS, extra: &[], source: "c++" },
    Compiler { program: "clang++", standards: CPP_STANDARDS, extra: &[], source: "c++" },
];

/// Uses every kind of thing in the header once, after including it alone and twice.
const USE: &str = "\
#include \"taskhold.h\"
#include \"taskhold.h\"
int main(void) {
    taskhold_store *store = 0;
    char *error = 0;
    taskhold_status status = taskhold_store_open(0, 0, 0, &store, &error);
    if (status != TASKHOLD_OK || TASKHOLD_ABI_VERSION != taskhold_abi_version()) {
        taskhold_string_free(error);
    }
    return (int)taskhold_store_close(store) + (TASKHOLD_WAIT_FOREVER == 0) + TASKHOLD_VERSION[0] * 0;
}
";

#[test]
fn the_header_compiles_cleanly_alone_and_twice_as_every_c_and_cpp() {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("header");
    std::fs::create_dir_all(&directory).expect("a directory for the sources");
    let mut compiled = 0;
    for compiler in COMPILERS {
        if Command::new(compiler.program).arg("--version").output().is_err() {
            continue;
        }
        let source = directory.join("use.c");
        std::fs::write(&source, USE).expect("the source is written");
        for standard in compiler.standards {
            compile(&compiler, standard, &source);
            compiled += 1;
        }
    }
    assert!(compiled > 0, "no C compiler was found");
}

fn compile(compiler: &Compiler, standard: &str, source: &Path) {
    let output = Command::new(compiler.program)
        .args(["-x", compiler.source])
        .arg(format!("-std={standard}"))
        .args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"])
        .args(compiler.extra)
        .arg("-I")
        .arg(generated::root().join("include"))
        .arg(source)
        .output()
        .expect("the compiler starts");
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} {standard}: {complaints}", compiler.program);
}
