//! The third act of `make demo-c`, `examples/c/worker.c`: workers are killed, stopped and replaced, and each task still
//! ends once.

mod clients;
mod stores;

use clients::{Check, Link, Program, run, text};
use stores::Folder;

#[test]
fn work_outlives_its_workers() {
    for check in [Check::Plain, Check::Sanitizers] {
        let sources = &["examples/c/worker.c"];
        let program = Program { name: "worker", sources, compiler: "gcc", link: Link::Shared, check };
        let folder = Folder::new();
        let output = run(program.command(&program.build()).arg(folder.url("work.db")));
        assert_eq!(text(&output.stderr), "");
        let printed = text(&output.stdout);
        for expected in [
            "worker 1  claims the report, writes 12 pages, and is in the middle of page 13",
            "kill -9 ",
            "worker 2  claims it when the lease has lapsed: attempt 2, behind page 12",
            "worker 2  writes pages 13 to 20 and completes the task",
            "worker 3  wakes, and its completion is refused: lease_lost",
            "worker 4  completes the task",
            "worker 6  claims it: still attempt 1, behind page 7, on A4",
            "Three tasks were created, and each was completed once.",
        ] {
            assert!(printed.contains(expected), "{expected} is missing in\n{printed}");
        }
    }
}
