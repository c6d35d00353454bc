//! The same work with other libraries that hold such state in memory, and with taskhold: `make bench-peers`, which
//! installs them first (`run`, beside this file). Everyone is measured in turn, several times over, and the table
//! has the medians. Without the peers in the environment, as under `make bench`, this does nothing.

#![allow(clippy::pedantic)] // As in the other benches.

mod figures;
mod native;
mod scan;
#[path = "../support/mod.rs"]
mod support;

use std::path::Path;
use std::process::Command;

use figures::Figures;
use support::Api;

fn main() {
    let Ok(cycles) = std::env::var("TASKHOLD_PEER_CYCLES") else { return };
    let cycles: usize = cycles.parse().expect("TASKHOLD_PEER_CYCLES is a number");
    let (python, node) = (std::env::var_os("TASKHOLD_PEER_PYTHON"), std::env::var_os("TASKHOLD_PEER_NODE"));
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers");
    let api = Api::load();
    let (mut a2a, mut mcp, mut scan) = (Figures::default(), Figures::default(), Figures::default());
    for cycle in 1..=cycles {
        eprintln!("Measuring: {cycle} of {cycles}");
        if let Some(python) = &python {
            a2a.add_from(Command::new(python).arg(here.join("a2a_memory.py")));
            native::a2a(&api, &mut a2a);
        }
        if let Some(node) = &node {
            mcp.add_from(Command::new("node").arg("--expose-gc").arg(here.join("mcp_memory.mjs")).arg(node));
            native::mcp(&api, &mut mcp);
        }
        native::scan(&api, &mut scan);
    }
    if python.is_some() {
        let (bytes, peer) = (native::task_bytes(), &a2a.peer);
        a2a.print(
            &format!(
                "A2A tasks of {bytes} B in memory: {peer}, by objects, and taskhold from the same Python"
            ),
            ("peer", "a2a-python"),
            &[
                ("text", "taskhold, JSON text"),
                ("decoded", "with json.loads or dumps"),
                ("native", "called natively"),
            ],
        );
        a2a.print(
            "The same with JSON text in and out, as it comes from clients and goes to them",
            ("peertext", "a2a-python"),
            &[("text", "taskhold")],
        );
    }
    if node.is_some() {
        let (bytes, peer) = (native::result_bytes(), &mcp.peer);
        mcp.print(
            &format!(
                "MCP tasks in memory, results of {bytes} B: {peer}, by reference, and taskhold natively"
            ),
            ("peer", "TypeScript SDK"),
            &[("native", "taskhold")],
        );
    }
    scan.print(
        "A find where every call passes over all tasks under one lock (that structure in Rust, nobody's class)",
        ("peer", "lock and scan"),
        &[("native", "taskhold")],
    );
}
