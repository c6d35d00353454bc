//! Builds and runs C and C++ programs against the shared and the static library that `make lib` leaves in
//! `build/lib`. A missing compiler is a failure, not a reason to skip.

#![allow(dead_code, reason = "each test program uses a part of this")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Every warning is an error. Version 4 of DWARF, because valgrind of Debian 12 cannot read clang's version 5.
const FLAGS: &str = "-Wall -Wextra -Wpedantic -Wshadow -Werror -O1 -gdwarf-4 -pthread";

#[path = "../support/generated.rs"]
pub mod generated;

pub use generated::root;

/// Text of a file of the project.
pub fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The folder with the libraries, built when sources changed since.
pub fn libraries() -> &'static Path {
    static LIBRARIES: OnceLock<PathBuf> = OnceLock::new();
    LIBRARIES.get_or_init(|| {
        // A make that runs this test passes its own flags and job slots on; they are not for this one.
        run(Command::new("make")
            .arg("lib")
            .current_dir(root())
            .env_remove("MAKEFLAGS")
            .env_remove("MAKELEVEL"));
        root().join("build/lib")
    })
}

/// How a program is linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    Shared,
    Static,
}

/// How a program is checked while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// As a host would run it; under valgrind's memcheck when `TASKHOLD_VALGRIND` is set.
    Plain,
    /// Compiled with the address and the undefined behavior sanitizer.
    Sanitizers,
}

/// A program to build.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// The name of the executable.
    pub name: &'a str,
    /// Source files, relative to the project.
    pub sources: &'a [&'a str],
    /// `gcc`, `g++`, `clang` or `clang++`.
    pub compiler: &'a str,
    pub link: Link,
    pub check: Check,
}

impl Program<'_> {
    /// Compiles with every warning as an error and links; gives the executable.
    pub fn build(&self) -> PathBuf {
        let libraries = libraries();
        let folder = root().join("build/tests");
        std::fs::create_dir_all(&folder).unwrap();
        let executable = folder
            .join(format!("{}-{}-{:?}-{:?}", self.name, self.compiler, self.link, self.check).to_lowercase());
        let standard = if self.compiler.ends_with("++") { "-std=c++11" } else { "-std=c99" };
        let mut command = Command::new(self.compiler);
        command.arg(standard).args(FLAGS.split(' '));
        command
            .args(["-Iinclude", "-Itests/c"])
            .args(self.sources)
            .arg("-o")
            .arg(&executable)
            .current_dir(root());
        if self.check == Check::Sanitizers {
            command.args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]);
        }
        match self.link {
            Link::Shared => {
                command.arg("-L").arg(libraries).arg("-ltaskhold");
                command.arg(format!("-Wl,-rpath,{}", libraries.display()));
            }
            Link::Static => {
                command.arg(libraries.join("libtaskhold.a")).args(static_system_libraries());
            }
        }
        run(&mut command);
        if self.check == Check::Sanitizers {
            let symbols = run(Command::new("nm").arg(&executable));
            assert!(text(&symbols.stdout).contains("__asan_init"), "the sanitizer is not linked in");
        }
        executable
    }

    /// The command that runs what [`Program::build`] gave, checked as asked for.
    pub fn command(&self, executable: &Path) -> Command {
        if self.check == Check::Sanitizers || std::env::var_os("TASKHOLD_VALGRIND").is_none() {
            return Command::new(executable);
        }
        let mut command = Command::new("valgrind");
        command.args([
            "--quiet",
            "--error-exitcode=99",
            "--leak-check=full",
            "--errors-for-leak-kinds=definite",
            "--show-leak-kinds=definite",
        ]);
        command.arg(executable);
        command
    }
}

/// What a program needs beside the static library, as rustc names it.
pub fn static_system_libraries() -> Vec<String> {
    let list = std::fs::read_to_string(libraries().join("native-static-libs.txt")).unwrap();
    list.split_whitespace().map(str::to_owned).collect()
}

/// Whether a tool that the project can do without is installed.
pub fn installed(tool: &str) -> bool {
    Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Runs a command that must succeed.
pub fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?} ended with {}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    output
}

/// Output as text.
pub fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("output is UTF-8")
}
