//! What README.md shows is what runs: the C quick start is `examples/c/quickstart.c`, byte for byte, and prints
//! what stands below it.

mod clients;

use std::collections::BTreeSet;
use std::process::Command;

use clients::{Check, Link, Program, read, root, run, text};

/// The contents of the fenced blocks in `language`.
fn blocks<'a>(document: &'a str, language: &str) -> Vec<&'a str> {
    let opening = format!("\n```{language}\n");
    let mut rest = document;
    let mut found = Vec::new();
    while let Some(at) = rest.find(&opening) {
        rest = &rest[at + opening.len()..];
        let end = rest.find("```\n").expect("the block is closed");
        found.push(&rest[..end]);
        rest = &rest[end..];
    }
    found
}

/// A JSON text on one line, with ids and times, which differ from run to run, replaced.
fn normalized(json: &str) -> String {
    let mut json: String = json.lines().map(str::trim).collect();
    for key in ["taskId", "createdAt", "lastUpdatedAt"] {
        let start =
            json.find(&format!("\"{key}\":\"")).unwrap_or_else(|| panic!("{key} is missing")) + key.len() + 4;
        let end = start + json[start..].find('"').unwrap();
        json.replace_range(start..end, "…");
    }
    json
}

#[test]
fn quick_start_is_the_example_and_prints_what_the_readme_shows() {
    let readme = read("README.md");
    let [shown] = blocks(&readme, "c")[..] else { panic!("one C block is expected") };
    assert_eq!(shown, read("examples/c/quickstart.c"));
    let [printed] = blocks(&readme, "json")[..] else { panic!("one JSON block is expected") };

    for link in [Link::Shared, Link::Static] {
        let sources = &["examples/c/quickstart.c"];
        let program = Program { name: "quickstart", sources, compiler: "gcc", link, check: Check::Plain };
        let executable = program.build();
        let output = run(&mut program.command(&executable));
        assert_eq!(text(&output.stderr), "");
        assert_eq!(normalized(text(&output.stdout)), normalized(printed));
    }
}

#[test]
fn readme_names_the_two_commands_and_its_links_lead_somewhere() {
    let readme = read("README.md");
    let makefile = read("Makefile");
    let commands = blocks(&readme, "sh").concat();
    for command in commands.lines().filter_map(|line| line.strip_prefix("make ")) {
        let target = command.split_whitespace().next().unwrap();
        assert!(makefile.contains(&format!("\n{target}:")), "the Makefile has no target {target}");
    }
    assert!(commands.contains("make demo") && commands.contains("make test"));
    let links = readme.split("](").skip(1).map(|rest| rest.split(')').next().unwrap());
    for link in links.filter(|link| !link.contains("://")) {
        let (path, heading) = link.split_once('#').unwrap_or((link, ""));
        let path = if path.is_empty() { "README.md" } else { path };
        let is_there = root().join(path).exists() && (heading.is_empty() || anchors(path).contains(heading));
        assert!(is_there, "README.md links to {link}, which is not there");
    }
}

/// What links lead to the headings of a file.
fn anchors(path: &str) -> BTreeSet<String> {
    let headings = read(path);
    let headings = headings.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let words = line.trim_start_matches('#').trim().to_lowercase();
            let kept = words.chars().filter(|&c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

#[test]
fn missing_packages_are_named_where_they_cannot_be_installed() {
    // Without apt-get on the path nobody is root enough.
    let mut command = Command::new("/bin/sh");
    command
        .args(["scripts/require.sh", "no-such-tool", "nm"])
        .env("PATH", "/nonexistent")
        .current_dir(root());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let complaint = text(&output.stderr);
    assert!(complaint.contains("Missing on this machine: no-such-tool binutils"), "{complaint}");
}
