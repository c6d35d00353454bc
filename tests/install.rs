//! `make install` and `make uninstall`, as somebody else's program sees them: what lies where, and that a program
//! outside of the project builds and runs by `pkg-config` and by `cmake`, shared and static, also after the whole
//! installation was moved.

mod clients;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clients::{libraries, root, run, text};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// An empty folder of the test's own, outside of the project's sources.
fn empty_folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("install").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Runs make on the targets and variables given, without the flags of a make that runs this test.
fn make(arguments: &[String]) {
    libraries();
    run(Command::new("make")
        .args(arguments)
        .current_dir(root())
        .env_remove("MAKEFLAGS")
        .env_remove("MAKELEVEL")
        .env_remove("DESTDIR"));
}

fn install(prefix: &Path) {
    make(&["install".into(), format!("PREFIX={}", prefix.display())]);
}

/// Every file and link below `folder`.
fn files(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                found.insert(entry.path().strip_prefix(folder).unwrap().display().to_string());
            }
        }
    }
    found
}

/// What `pkg-config` says when it sees this installation only.
fn pkg_config(prefix: &Path, arguments: &[&str]) -> Vec<String> {
    let output = run(Command::new("pkg-config")
        .args(arguments)
        .arg("taskhold")
        .env("PKG_CONFIG_LIBDIR", prefix.join("lib/pkgconfig"))
        .env_remove("PKG_CONFIG_PATH"));
    text(&output.stdout).split_whitespace().map(str::to_owned).collect()
}

/// Runs a program, which must say that it works, and which needs the shared library or does not.
fn check(program: &Path, search: Option<&Path>, needs_library: bool) {
    let mut command = Command::new(program);
    command.env_remove("LD_LIBRARY_PATH");
    if let Some(search) = search {
        command.env("LD_LIBRARY_PATH", search);
    }
    let output = run(&mut command);
    assert_eq!(text(&output.stdout), format!("taskhold {VERSION} completed a task\n"));
    let dynamic = run(Command::new("readelf").arg("-d").arg(program));
    let needed = text(&dynamic.stdout).contains("Shared library: [libtaskhold.so.0]");
    assert_eq!(needed, needs_library, "{}", program.display());
}

/// Builds and runs the program by `pkg-config`: shared, and static as a whole.
fn by_pkg_config(prefix: &Path, build: &Path) {
    fs::copy(root().join("tests/install/main.c"), build.join("main.c")).unwrap();
    for (name, of_compiler, of_pkg_config) in
        [("shared", None, None), ("static", Some("-static"), Some("--static"))]
    {
        let mut arguments = vec!["--cflags", "--libs"];
        arguments.extend(of_pkg_config);
        let program = build.join(name);
        run(Command::new("gcc")
            .args(of_compiler)
            .args(["-Werror", "main.c", "-o"])
            .arg(&program)
            .args(pkg_config(prefix, &arguments))
            .current_dir(build));
        let search = prefix.join("lib");
        check(&program, (name == "shared").then_some(search.as_path()), name == "shared");
    }
}

/// Builds and runs the program by `cmake`: against the shared and against the static library.
fn by_cmake(prefix: &Path, build: &Path) {
    for file in ["main.c", "CMakeLists.txt"] {
        fs::copy(root().join("tests/install").join(file), build.join(file)).unwrap();
    }
    let out = build.join("out");
    let configure = cmake_configure(prefix, build, VERSION).output().unwrap();
    assert!(configure.status.success(), "{}", text(&configure.stderr));
    run(Command::new("cmake").arg("--build").arg(&out).env_remove("MAKEFLAGS").env_remove("MAKELEVEL"));
    check(&out.join("shared"), None, true);
    check(&out.join("static"), None, false);
}

fn cmake_configure(prefix: &Path, build: &Path, wanted: &str) -> Command {
    let mut command = Command::new("cmake");
    command
        .args(["-G", "Unix Makefiles", "-S"])
        .arg(build)
        .arg("-B")
        .arg(build.join("out"))
        .arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()))
        .arg(format!("-DWANTED={wanted}"))
        .env_remove("MAKEFLAGS")
        .env_remove("MAKELEVEL");
    command
}

#[test]
fn everything_lies_in_its_place_and_goes_again() {
    let destination = empty_folder("destination");
    let arguments = ["PREFIX=/opt/taskhold", "LIBDIR=lib/triplet"].map(str::to_owned);
    let staged = format!("DESTDIR={}", destination.display());
    let all = |target: &str| [&[target.to_owned(), staged.clone()][..], &arguments[..]].concat();
    make(&all("install"));
    // Once more, over what is there.
    make(&all("install"));
    let expected = [
        "include/taskhold.h",
        "lib/triplet/cmake/taskhold/taskhold-config-version.cmake",
        "lib/triplet/cmake/taskhold/taskhold-config.cmake",
        "lib/triplet/libtaskhold.a",
        "lib/triplet/libtaskhold.so",
        "lib/triplet/libtaskhold.so.0",
        &format!("lib/triplet/libtaskhold.so.{VERSION}"),
        "lib/triplet/pkgconfig/taskhold.pc",
        "share/licenses/taskhold/LICENSE-APACHE",
        "share/licenses/taskhold/LICENSE-MIT",
    ]
    .map(str::to_owned);
    let prefix = destination.join("opt/taskhold");
    assert_eq!(files(&prefix), BTreeSet::from(expected));
    assert_eq!(files(&destination).len(), files(&prefix).len(), "nothing lies outside of the prefix");

    let lib = prefix.join("lib/triplet");
    assert_eq!(fs::read_link(lib.join("libtaskhold.so")).unwrap(), Path::new("libtaskhold.so.0"));
    let library = format!("libtaskhold.so.{VERSION}");
    assert_eq!(fs::read_link(lib.join("libtaskhold.so.0")).unwrap(), Path::new(&library));
    for text_file in ["pkgconfig/taskhold.pc", "cmake/taskhold/taskhold-config.cmake"] {
        let text = fs::read_to_string(lib.join(text_file)).unwrap();
        assert!(!text.contains('@') && !text.contains("/opt/"), "{text_file}: {text}");
    }

    fs::write(lib.join("somebody-elses"), "").unwrap();
    make(&all("uninstall"));
    assert_eq!(files(&destination), BTreeSet::from(["opt/taskhold/lib/triplet/somebody-elses".to_owned()]));
    make(&all("uninstall"));
}

#[test]
fn a_program_outside_builds_and_runs_four_ways_also_when_the_installation_was_moved() {
    let folder = empty_folder("outside");
    let (first, second) = (folder.join("first"), folder.join("second"));
    install(&first);
    assert_eq!(pkg_config(&first, &["--modversion"]), [VERSION]);
    for (prefix, name) in [(&first, "before"), (&second, "after")] {
        if prefix == &second {
            fs::rename(&first, &second).unwrap();
        }
        by_pkg_config(prefix, &empty_folder(&format!("outside/{name}-pkg-config")));
        by_cmake(prefix, &empty_folder(&format!("outside/{name}-cmake")));
    }
}

#[test]
fn cmake_gets_a_version_that_serves_it_and_no_other() {
    let folder = empty_folder("versions");
    install(&folder.join("prefix"));
    for file in ["main.c", "CMakeLists.txt"] {
        fs::copy(root().join("tests/install").join(file), folder.join(file)).unwrap();
    }
    let major: u32 = env!("CARGO_PKG_VERSION_MAJOR").parse().unwrap();
    let minor: u32 = env!("CARGO_PKG_VERSION_MINOR").parse().unwrap();
    let table = [
        (format!("{VERSION};EXACT"), true),
        (format!("{major}.{minor}"), true),
        (format!("{major}.0"), true),
        (format!("{major}.{}", minor + 1), false),
        (format!("{}.0", major + 1), false),
    ];
    for (wanted, served) in table {
        let output = cmake_configure(&folder.join("prefix"), &folder, &wanted).output().unwrap();
        assert_eq!(output.status.success(), served, "{wanted}: {}", text(&output.stderr));
    }
}

/// Root on a machine without the C library's headers: pip, Maven and packagers run `make lib` and `make install`.
#[test]
fn only_commands_of_the_projects_own_install_what_is_missing() {
    use std::os::unix::fs::PermissionsExt;

    let folder = empty_folder("missing");
    let called = folder.join("called");
    let scripts =
        [("gcc", "exit 1"), ("id", "echo 0"), ("apt-get", &format!("echo $* >>{}", called.display()))];
    for (name, script) in scripts {
        let file = folder.join(name);
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    for (target, installs) in [("lib", false), ("install", false), ("demo", true)] {
        let output = Command::new("make")
            .arg(target)
            .arg(format!("DESTDIR={}", folder.display()))
            .current_dir(root())
            .env("PATH", &path)
            .env("TASKHOLD_MISSING", "install")
            .env_remove("MAKEFLAGS")
            .env_remove("MAKELEVEL")
            .output()
            .unwrap();
        assert!(!output.status.success(), "{target}");
        let named = text(&output.stderr).contains("Missing on this machine: libc6-dev");
        let installed = fs::read_to_string(&called).is_ok_and(|calls| calls.contains("libc6-dev"));
        assert_eq!((named, installed), (!installs, installs), "{target}: {}", text(&output.stderr));
    }
}

#[test]
fn the_shared_library_is_optimized_as_a_whole() {
    let output =
        run(Command::new("packaging/check-lto.sh").arg("build/lib/libtaskhold.so").current_dir(root()));
    assert!(text(&output.stdout).starts_with("Link-time optimization: fat"), "{}", text(&output.stdout));

    // The check sees a library that is not.
    let folder = empty_folder("lto");
    let source = "#[unsafe(no_mangle)] pub extern \"C\" fn one() -> usize { std::env::args().count() }";
    fs::write(folder.join("one.rs"), source).unwrap();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    run(Command::new(rustc)
        .args(["--edition", "2024", "-O", "--crate-type", "cdylib", "one.rs"])
        .current_dir(&folder));
    let output = Command::new("packaging/check-lto.sh")
        .arg(folder.join("libone.so"))
        .current_dir(root())
        .output()
        .unwrap();
    assert!(!output.status.success() && text(&output.stderr).contains("OFF"), "{}", text(&output.stderr));
}
