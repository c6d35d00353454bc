//! The C example: the conversation that `make demo-c` prints, compared with `tests/c/conversation.txt` (ids apart;
//! `TASKHOLD_BLESS=1` rewrites it), under sanitizers too, and what it makes of bad input.

mod clients;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use clients::{Check, Link, Program, generated, read, root, run, text};

const STORY: [&str; 3] =
    ["examples/c/conversation.jsonl", "examples/c/sessions.jsonl", "examples/c/a2a.jsonl"];
const PRINTED: &str = "tests/c/conversation.txt";

fn program(check: Check) -> Program<'static> {
    let sources = &[
        "examples/c/a2a.c",
        "examples/c/conversation.c",
        "examples/c/json.c",
        "examples/c/memory.c",
        "examples/c/sessions.c",
        "examples/c/show.c",
        "examples/c/step.c",
        "examples/c/tasks.c",
    ];
    Program { name: "conversation", sources, compiler: "gcc", link: Link::Shared, check }
}

fn executable(check: Check) -> &'static Path {
    static PLAIN: OnceLock<PathBuf> = OnceLock::new();
    static SANITIZED: OnceLock<PathBuf> = OnceLock::new();
    let built = if check == Check::Plain { &PLAIN } else { &SANITIZED };
    built.get_or_init(|| program(check).build())
}

/// Plays steps from standard input, with the sanitizers watching.
fn play(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(executable(Check::Sanitizers))
        .args(arguments)
        .current_dir(root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that stops at a bad line does not read the rest.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

/// Every id that a run made up, in order of appearance, becomes `<id 1>`, `<id 2>`, …
fn without_ids(printed: &str) -> String {
    let mut ids: Vec<&str> = Vec::new();
    for key in ["\"taskId\": \"", "\"sessionId\": \""] {
        for (at, _) in printed.match_indices(key) {
            let id = printed[at + key.len()..].split('"').next().unwrap();
            if !ids.contains(&id) && !id.starts_with("11111111-") {
                ids.push(id);
            }
        }
    }
    let mut printed = printed.to_owned();
    for (at, id) in ids.iter().enumerate() {
        // As long as the id, so that lines wrap the same.
        let name = format!("<id {}>", at + 1);
        printed = printed.replace(id, &format!("{name:.<width$}", width = id.len()));
    }
    printed
}

#[test]
fn story_is_printed_as_recorded() {
    let program = program(Check::Plain);
    let output = run(program.command(executable(Check::Plain)).args(STORY).current_dir(root()));
    let printed = without_ids(text(&output.stdout));
    assert_eq!(text(&output.stderr), "");
    generated::check(PRINTED, &printed);
}

#[test]
fn story_is_clean_under_sanitizers_and_the_same_from_standard_input() {
    let input: String = STORY.iter().map(|path| read(path)).collect();
    for arguments in [&[][..], &["-"][..]] {
        let output = play(arguments, input.as_bytes());
        assert_eq!((text(&output.stderr), output.status.code()), ("", Some(0)));
        assert_eq!(without_ids(text(&output.stdout)), read(PRINTED));
    }
}

#[test]
fn bad_input_is_named_by_line_and_ends_with_2() {
    for (line, message) in [
        (&b"not json"[..], "the line is not a JSON object"),
        (b"[1, 2]", "the line is not a JSON object"),
        (b"{\"say\": \"a\", \"say\": \"b\"}", "the line is not a JSON object"),
        (b"{\"say\": \"\xff\"}", "the line is not a JSON object"),
        (b"{\"say\": \"cut\0off\"}", "the line holds a NUL byte"),
        (b"{\"say\": 1}", "the member must be a string: say"),
        (b"{}", "a step has a member"),
        (b"{\"worker\": \"dance\", \"task\": \"t\"}", "a worker does not know this action"),
        (b"{\"worker\": \"complete\", \"task\": \"t\"}", "the step lacks a member: result"),
        (b"{\"worker\": \"cancel\", \"tsk\": \"t\"}", "the step has an unknown member: tsk"),
        (b"{\"worker\": \"cancel\", \"task\": \"${task1}\"}", "names nothing that was created"),
        (b"{\"worker\": \"cancel\", \"task\": \"${task99999999999999999999}\"}", "names nothing"),
        (b"{\"worker\": \"advance\", \"ms\": -1}", "whole number of milliseconds: ms"),
        (b"{\"worker\": \"advance\", \"ms\": 9223372036854775807}", "at most a hundred years"),
        (b"{\"session\": \"replace\", \"expected\": \"a\", \"change\": {}}", "no snapshot has this name"),
        (b"{\"session\": \"dance\"}", "a session step does not know this action"),
        (b"{\"a2a\": \"save\"}", "the step lacks a member: task"),
        (b"{\"endpoint\": 5, \"request\": {}}", "the member must be a string: endpoint"),
    ] {
        let mut input = b"{\"say\": \"first\"}\n\n".to_vec();
        input.extend_from_slice(line);
        input.extend_from_slice(b"\n{\"say\": \"never reached\"}\n");
        let output = play(&[], &input);
        let shown = String::from_utf8_lossy(line);
        let complaint = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{shown}: {complaint}");
        assert!(
            complaint.starts_with("standard input:3: ") && complaint.contains(message),
            "{shown}: {complaint}"
        );
        assert_eq!(complaint.lines().count(), 1, "{shown}: {complaint}");
        assert_eq!(text(&output.stdout), "\nfirst\n", "{shown}");
    }
    let output = play(&["no/such.jsonl"], b"");
    assert_eq!(
        (output.status.code(), text(&output.stderr)),
        (Some(2), "no/such.jsonl: cannot be opened; usage: conversation [FILE.jsonl ... | -]\n")
    );
}

#[test]
fn traffic_that_a_server_must_answer_is_answered() {
    // Broken and hostile requests are the client's affair: the conversation goes on.
    let input = br#"{"request": "{\"jsonrpc\": \"2.0\", \"id\": 1"}
{"request": "{x}"}
{"request": 7}
{"request": [{"jsonrpc": "2.0", "id": 1, "method": "tasks/get"}]}
{"request": {"jsonrpc": "2.0", "id": {"a": 1}, "method": "tools/call", "params": {"name": "t"}}}
{"request": {"jsonrpc": "2.0", "id": "7", "method": "tools/call", "params": ["t"]}}
{"request": {"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {"name": "t"}}}
{"request": {"jsonrpc": "2.0", "method": "tasks/cancel", "params": {"taskId": "t"}}}
{"request": {"jsonrpc": "2.0", "id": 9, "method": "initialize"}}
{"worker": "cancel", "task": "unknown"}
{"worker": "cancel", "task": "unknown", "options": {"later": true}}
{"say": "Costs ${5}."}
"#;
    let output = play(&[], input);
    // Where lines wrap does not matter here.
    let printed = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!((text(&output.stderr), output.status.code()), ("", Some(0)));
    for expected in [
        "-32700",
        "-32600",
        "\"id\": \"7\", \"error\": {\"code\": -32602",
        "\"id\": 8, \"error\": {\"code\": -32021",
        "client <- server: no response",
        "\"id\": 9, \"error\": {\"code\": -32601",
        "refused: not_found (task_not_found)",
        "refused: invalid_argument (unknown_key)",
        "Costs ${5}.",
    ] {
        assert!(printed.contains(expected), "{expected} is missing in\n{printed}");
    }
}
