//! The second act of `make demo-c`, `examples/c/restart.c`: a process is killed with kill -9 in its work, and another
//! goes on. Over a file nothing is lost; over memory, which does not survive, the program must notice.

mod clients;
mod stores;

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use clients::{Check, Link, Program, run, text};
use stores::Folder;

/// The command that plays it, built once for both tests.
fn restart(check: Check) -> Command {
    static PLAIN: OnceLock<PathBuf> = OnceLock::new();
    static SANITIZED: OnceLock<PathBuf> = OnceLock::new();
    let sources = &["examples/c/restart.c"];
    let program = Program { name: "restart", sources, compiler: "gcc", link: Link::Shared, check };
    let built = if check == Check::Plain { &PLAIN } else { &SANITIZED };
    program.command(built.get_or_init(|| program.build()))
}

#[test]
fn what_was_acknowledged_survives_a_kill_and_the_work_goes_on() {
    for check in [Check::Plain, Check::Sanitizers] {
        let folder = Folder::new();
        let output = run(restart(check).arg(folder.url("agents.db")));
        assert_eq!(text(&output.stderr), "");
        let printed = text(&output.stdout);
        for expected in [
            "kill -9 ",
            "task summary      completed, the same to the byte",
            "task booking      input_required, the same to the byte",
            "task translation  working, page ",
            "session           initialized: true, the same to the byte",
            "A2A task          TASK_STATE_WORKING, the same to the byte",
            "the worker takes: window",
            "A2A task          TASK_STATE_COMPLETED",
            "{\"working\":0,\"input_required\":0,\"completed\":3,\"failed\":0,\"cancelled\":0}",
            "Nothing that was acknowledged is lost; every handle is closed.",
        ] {
            assert!(printed.contains(expected), "{expected} is missing in\n{printed}");
        }
        assert!(!printed.contains("LOST"), "{printed}");
    }
}

#[test]
fn a_loss_is_noticed() {
    let output = restart(Check::Plain).arg("memory:").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout).matches("LOST").count(), 5, "{}", text(&output.stdout));
    let folder = Folder::new();
    let output = restart(Check::Plain).arg(folder.url("no/such/folder.db")).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("storage_unavailable"), "{}", text(&output.stderr));
}
