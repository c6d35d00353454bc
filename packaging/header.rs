//! Generates `include/taskhold.h` from `src/ffi` with cbindgen, and adds what cbindgen cannot know: the version
//! macros and the list of reasons. `build.rs` uses this under the feature `header`, and `tests/header.rs` compares
//! the result with the committed file.

use std::fmt::Write as _;
use std::path::Path;

#[allow(dead_code, reason = "the generator uses a part of it")]
#[path = "../src/reason.rs"]
mod reason;

use reason::{Reason, Status};

/// The files of exports in the order of the header.
pub const ORDER: [&str; 15] = [
    "status",
    "library",
    "string",
    "clock",
    "store",
    "manager",
    "manager_worker",
    "manager_queue",
    "manager_protocol",
    "manager_events",
    "events",
    "session_store",
    "state_provider",
    "state_provider_events",
    "state_provider_push",
];

/// The header of the crate in the folder `root`. Takes the version from the variables that cargo sets for build
/// scripts and tests.
pub fn generate(root: &Path) -> String {
    let mut config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("cbindgen.toml");
    config.after_includes = Some(version_macros() + &reasons_comment());
    let mut builder = cbindgen::Builder::new().with_config(config);
    for file in ORDER {
        builder = builder.with_src(root.join(format!("src/ffi/{file}.rs")));
    }
    let mut header = Vec::new();
    builder.generate().expect("cbindgen reads src/ffi").write(&mut header);
    String::from_utf8(header).expect("the header is UTF-8")
}

fn version_macros() -> String {
    let [major, minor, patch] = ["MAJOR", "MINOR", "PATCH"]
        .map(|part| std::env::var(format!("CARGO_PKG_VERSION_{part}")).expect("cargo sets it"));
    format!(
        "\n/** The version of this header. */\n#define TASKHOLD_VERSION \"{major}.{minor}.{patch}\"\n\
         #define TASKHOLD_VERSION_MAJOR {major}\n#define TASKHOLD_VERSION_MINOR {minor}\n\
         #define TASKHOLD_VERSION_PATCH {patch}\n"
    )
}

fn reasons_comment() -> String {
    let mut comment =
        "\n/*\n * The reasons of errors, by the status that each belongs to. Names never change.\n"
            .to_owned();
    for status in Status::ALL {
        let mut reasons = Reason::ALL.iter().filter(|reason| reason.status() == *status).peekable();
        if reasons.peek().is_some() {
            let _ = writeln!(comment, " *\n * TASKHOLD_{}", status.name().to_uppercase());
        }
        for reason in reasons {
            wrap(&mut comment, &format!("{}: {}", reason.name(), reason.description()));
        }
    }
    comment + " */"
}

/// Appends one item of the list, its lines cut to the width of the header.
fn wrap(comment: &mut String, item: &str) {
    let mut line = " *  -".to_owned();
    for word in item.split(' ') {
        if line.len() + 1 + word.len() > 100 {
            let _ = writeln!(comment, "{line}");
            line.clear();
            line.push_str(" *   ");
        }
        line = line + " " + word;
    }
    let _ = writeln!(comment, "{line}");
}
