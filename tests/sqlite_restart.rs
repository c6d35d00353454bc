//! The second act of `make demo`, `examples/c/restart.c`: a process is killed with kill -9 in its work, and another
//! goes on. Over a file nothing is lost; over memory, which does not survive, the program must notice.

mod clients;
mod stores;

use clients::{Check, Link, Program, run, text};
use stores::Folder;

fn program(check: Check) -> Program<'static> {
    Program { name: "restart", sources: &["examples/c/restart.c"], compiler: "gcc", link: Link::Shared, check }
}

#[test]
fn what_was_acknowledged_survives_a_kill_and_the_work_goes_on() {
    for check in [Check::Plain, Check::Sanitizers] {
        let (program, folder) = (program(check), Folder::new());
        let executable = program.build();
        let output = run(program.command(&executable).arg(folder.url("agents.db")));
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
    let program = program(Check::Plain);
    let output = program.command(&program.build()).arg("memory:").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout).matches("LOST").count(), 5, "{}", text(&output.stdout));
    let folder = Folder::new();
    let output = program.command(&program.build()).arg(folder.url("no/such/folder.db")).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("storage_unavailable"), "{}", text(&output.stderr));
}
