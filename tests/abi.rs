//! The ABI is frozen: the exported functions, the numbers of the statuses and the names of the reasons are
//! those of the files in `tests/abi`, which are edited by hand and only ever grow. A built shared library, if
//! there is one, exports exactly that.

mod support;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use support::{generated, header};
use taskhold::error::{Reason, Status};

fn read(path: &str) -> String {
    std::fs::read_to_string(generated::root().join(path)).expect(path)
}

fn frozen_symbols() -> BTreeSet<String> {
    let text = read("tests/abi/symbols.txt");
    let symbols: BTreeSet<_> = text.lines().map(str::to_owned).collect();
    assert!(text.lines().is_sorted(), "symbols.txt is sorted");
    assert_eq!(symbols.len(), text.lines().count(), "each symbol once");
    symbols
}

#[test]
fn the_header_has_exactly_the_frozen_functions() {
    let functions = header::functions(&read("include/taskhold.h"));
    let names: BTreeSet<_> = functions.iter().map(|function| function.name.clone()).collect();
    assert_eq!(names.len(), functions.len());
    assert_eq!(names, frozen_symbols());
}

#[test]
fn the_sources_export_exactly_the_frozen_functions() {
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(generated::root().join("src/ffi")).expect("src/ffi") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let source = std::fs::read_to_string(path).expect("a source file");
        for item in source.split("#[unsafe(no_mangle)]\n").skip(1) {
            let (_, rest) = item.split_once("extern \"C\" fn ").expect("only functions are exported");
            let name: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            assert!(names.insert(name.clone()), "{name} is defined once");
        }
    }
    assert_eq!(names, frozen_symbols());
}

#[test]
fn nothing_outside_of_ffi_is_exported() {
    let mut directories = vec![generated::root().join("src")];
    let mut files = 0;
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.ends_with("src/ffi") {
                continue;
            }
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let source = std::fs::read_to_string(&path).expect("a source file");
            assert!(!source.contains("no_mangle") && !source.contains("export_name"), "{}", path.display());
            files += 1;
        }
    }
    assert!(files > 10);
}

#[test]
fn statuses_are_frozen() {
    let header = read("include/taskhold.h");
    let found: Vec<_> =
        Status::ALL.iter().map(|status| format!("{}={}", status.name(), status.code())).collect();
    assert_eq!(found, read("tests/abi/status.txt").lines().collect::<Vec<_>>());
    for status in Status::ALL {
        let define = format!("#define TASKHOLD_{} {}\n", status.name().to_uppercase(), status.code());
        assert!(header.contains(&define), "{define}");
    }
}

#[test]
fn statuses_have_the_names_that_the_library_gives_out() {
    for status in Status::ALL {
        assert_eq!(support::calls::status_name(status.code()), status.name());
    }
    for unknown in [-1, 13, 98, 100, i32::MAX, i32::MIN] {
        assert_eq!(support::calls::status_name(unknown), "unknown");
    }
}

#[test]
fn reasons_are_frozen() {
    let found: Vec<_> =
        Reason::ALL.iter().map(|reason| format!("{}={}", reason.name(), reason.status().name())).collect();
    assert_eq!(found, read("tests/abi/reasons.txt").lines().collect::<Vec<_>>());
    let header = read("include/taskhold.h");
    for reason in Reason::ALL {
        assert!(header.contains(&format!(" *  - {}: ", reason.name())), "{}", reason.name());
    }
}

/// The shared library under test: the one that is named, or the one that `make lib` made.
fn library() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("TASKHOLD_LIBRARY") {
        let path = PathBuf::from(named);
        assert!(path.is_file(), "TASKHOLD_LIBRARY names no file");
        return Some(path);
    }
    Some(generated::root().join("build/lib/libtaskhold.so")).filter(|path| path.is_file())
}

fn output_of(program: &str, arguments: &[&str], library: &PathBuf) -> String {
    let output = Command::new(program).args(arguments).arg(library).output().expect(program);
    assert!(output.status.success(), "{program}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
#[cfg(target_os = "linux")]
fn a_built_library_exports_the_frozen_functions_and_is_never_unloaded() {
    let Some(library) = library() else {
        eprintln!("no shared library was built: nothing to look at");
        return;
    };
    let symbols = output_of("nm", &["-D", "--defined-only"], &library);
    let names: BTreeSet<_> =
        symbols.lines().filter_map(|line| line.rsplit(' ').next()).map(str::to_owned).collect();
    assert_eq!(names, frozen_symbols());
    let dynamic = output_of("readelf", &["-d", "-W"], &library);
    assert!(dynamic.contains("Library soname: [libtaskhold.so.0]"), "{dynamic}");
    assert!(dynamic.contains("NODELETE"), "{dynamic}");
}
