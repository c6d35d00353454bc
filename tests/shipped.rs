//! The files that `make lib` leaves in `build/lib` for others, and the ones of a plain `cargo build`: what can be
//! seen of them, what they bring along, and what else a program may be linked with.
#![cfg(target_os = "linux")]

mod clients;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clients::{libraries, read, root, run, static_system_libraries, text};

fn output_of(program: &str, arguments: &[&str], file: &Path) -> String {
    String::from_utf8_lossy(&run(Command::new(program).args(arguments).arg(file)).stdout).into_owned()
}

fn frozen_functions() -> BTreeSet<String> {
    read("tests/abi/symbols.txt").lines().map(str::to_owned).collect()
}

/// The names that a program can link with.
fn visible(arguments: &[&str], library: &Path) -> BTreeSet<String> {
    let arguments = [&["--defined-only"], arguments].concat();
    // A line of a symbol has three words, that of an archive's member one.
    let symbols = output_of("nm", &arguments, library);
    symbols.lines().filter_map(|line| line.split(' ').nth(2)).map(str::to_owned).collect()
}

fn sections(file: &Path) -> Vec<String> {
    let table = output_of("readelf", &["-S", "-W"], file);
    let names = table.lines().filter_map(|line| line.split_once("] .")?.1.split_whitespace().next());
    names.map(str::to_owned).collect()
}

fn build_id(file: &Path) -> String {
    let notes = output_of("readelf", &["-n", "-W"], file);
    notes.split_once("Build ID: ").expect("a build id").1.lines().next().expect("a line").to_owned()
}

fn size(file: &Path) -> u64 {
    fs::metadata(file).unwrap().len()
}

/// A folder for what a test builds.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("shipped").join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn the_shared_library_is_stripped_and_its_debug_information_lies_beside_it() {
    let library = libraries().join("libtaskhold.so.0");
    let debug = libraries().join("libtaskhold.so.0.debug");
    let kept = sections(&library);
    for gone in ["symtab", "debug_info", "debug_line"] {
        assert!(!kept.iter().any(|section| section == gone), "{gone} was not stripped");
    }
    // Of 6 MB, TLS for PostgreSQL takes 2.
    assert!(size(&library) < 7_000_000, "{} bytes", size(&library));
    // A debugger finds the file by its name or by the id.
    let link = output_of("readelf", &["-p", ".gnu_debuglink"], &library);
    assert!(link.contains("libtaskhold.so.0.debug"), "{link}");
    assert_eq!(build_id(&library), build_id(&debug));
    assert!(sections(&debug).iter().any(|section| section == "debug_line"));
    assert!(output_of("nm", &[], &debug).lines().count() > 1000, "names of functions that are not exported");
}

#[test]
fn the_static_library_shows_the_frozen_functions_and_nothing_else() {
    assert_eq!(visible(&["-g"], &libraries().join("libtaskhold.a")), frozen_functions());
}

/// What cargo linked for this test is what `cargo build` links.
#[test]
fn a_plain_build_gives_a_shared_library_with_its_name_that_is_never_unloaded() {
    let here = std::env::current_exe().unwrap();
    let library = here.parent().unwrap().join("libtaskhold.so");
    let dynamic = output_of("readelf", &["-d", "-W"], &library);
    assert!(dynamic.contains("Library soname: [libtaskhold.so.0]"), "{dynamic}");
    assert!(dynamic.contains("NODELETE"), "{dynamic}");
    assert_eq!(visible(&["-D"], &library), frozen_functions());
    build_id(&library);
    assert!(library.with_extension("a").is_file());
}

/// The SQLite that the crate bundles, compiled as its authors would: as a static and as a shared library.
fn another_sqlite(folder: &Path) {
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let metadata = run(Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline", "--filter-platform", &platform])
        .current_dir(root()));
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages.iter().find(|package| package["name"] == "libsqlite3-sys").unwrap();
    let source = Path::new(package["manifest_path"].as_str().unwrap()).with_file_name("sqlite3");
    let gcc = || {
        let mut command = Command::new("gcc");
        command.current_dir(folder);
        command
    };
    run(gcc().args(["-c", "-fPIC", "-o", "sqlite3.o"]).arg(source.join("sqlite3.c")));
    run(gcc().args(["-shared", "-o", "libsqlite3.so", "sqlite3.o"]));
    run(Command::new("ar").args(["rcs", "libsqlite3.a", "sqlite3.o"]).current_dir(folder));
}

#[test]
fn a_program_with_a_sqlite_of_its_own_uses_that_and_the_library_uses_the_librarys() {
    let folder = folder("sqlite");
    another_sqlite(&folder);
    let ours = libraries();
    let shared =
        vec![format!("-Wl,-rpath,{}", ours.display()), ours.join("libtaskhold.so").display().to_string()];
    let r#static = vec![ours.join("libtaskhold.a").display().to_string()];
    for (kind, library) in [("shared", shared), ("static", r#static)] {
        for theirs in ["libsqlite3.a", "libsqlite3.so"] {
            let theirs =
                vec![format!("-Wl,-rpath,{}", folder.display()), folder.join(theirs).display().to_string()];
            for (order, libraries) in [("first", [&library, &theirs]), ("last", [&theirs, &library])] {
                let program = folder.join("program");
                run(Command::new("gcc")
                    .args(["-std=c99", "-Iinclude", "tests/install/sqlite_beside.c", "-o"])
                    .arg(&program)
                    .args(libraries.into_iter().flatten())
                    .args(static_system_libraries())
                    .current_dir(root()));
                let store = folder.join("store.db");
                let output = run(Command::new(&program).arg(format!("sqlite:{}", store.display())));
                assert_eq!(
                    text(&output.stdout),
                    "taskhold used its own SQLite, the program used its own\n",
                    "{kind} {order}, {theirs:?}"
                );
            }
        }
    }
}

const OTHER: &str = r#"
#[unsafe(no_mangle)]
pub extern "C" fn other_caught_panics() -> i32 {
    std::panic::set_hook(Box::new(|_| {}));
    let thread = std::thread::spawn(|| std::panic::catch_unwind(|| panic!("{}", String::from("caught"))).is_err());
    i32::from(thread.join().unwrap())
}
"#;

#[test]
fn a_program_may_have_another_static_rust_library() {
    let folder = folder("rust");
    fs::write(folder.join("other.rs"), OTHER).unwrap();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    run(Command::new(rustc)
        .args(["--edition", "2024", "-O", "--crate-type", "staticlib", "other.rs"])
        .current_dir(&folder));
    let (ours, theirs) = (libraries().join("libtaskhold.a"), folder.join("libother.a"));
    for libraries in [[&ours, &theirs], [&theirs, &ours]] {
        let program = folder.join("program");
        run(Command::new("gcc")
            .args(["-std=c99", "-Iinclude", "tests/install/two_rusts.c", "-o"])
            .arg(&program)
            .args(libraries)
            .args(static_system_libraries())
            .current_dir(root()));
        assert_eq!(text(&run(&mut Command::new(&program)).stdout), "both work\n");
    }
}
