//! What the library says of itself, and reading values out of JSON texts.

mod support;

use std::ffi::CStr;
use std::ptr;

use serde_json::{Value, json};
use support::calls::{self, Failure, c, json as json_of, text};
use taskhold::ffi::*;

fn get(json: &str, pointer: &str) -> Result<Option<String>, Failure> {
    let (json, pointer) = (c(json), c(pointer));
    // SAFETY: the strings live until the call returns and the outputs are writable.
    text(|out, error| unsafe { taskhold_json_get(json.as_ptr(), pointer.as_ptr(), out, error) })
}

fn describe() -> Value {
    // SAFETY: the outputs are writable.
    json_of(|out, error| unsafe { taskhold_describe(out, error) }).expect("described")
}

#[test]
fn the_versions_agree() {
    // SAFETY: the version is static and NUL-terminated.
    let version = unsafe { CStr::from_ptr(taskhold_version()) }.to_str().expect("ASCII");
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
    assert_eq!(taskhold_abi_version(), TASKHOLD_ABI_VERSION);
    let described = describe();
    assert_eq!(described["version"], version);
    assert_eq!(described["abiVersion"], TASKHOLD_ABI_VERSION);
}

#[test]
fn the_description_has_the_limits_and_the_defaults_that_hold() {
    let _alone = support::alone();
    let described = describe();
    assert_eq!(described["backends"], json!(["memory", "sqlite", "postgres"]));
    assert_eq!(
        described["limits"],
        json!({
            "identifierBytes": 1024,
            "nestingDepth": 128,
            "payloadBytes": 10_485_760,
            "durationMs": 9_223_372_036_854_u64,
            "taskPageSize": 1000,
            "sessionPageSize": 1000,
            "a2aTaskPageSize": 100,
        })
    );
    let manager = calls::open_manager(ptr::null_mut(), "{}");
    let sessions = calls::open_sessions(ptr::null_mut(), "{}");
    let provider = calls::open_provider(ptr::null_mut(), "{}");
    // SAFETY: the outputs are writable.
    let options = unsafe {
        json!({
            "manager": json_of(|out, error| taskhold_manager_options(manager, out, error)).expect("options"),
            "sessionStore":
                json_of(|out, error| taskhold_session_store_options(sessions, out, error)).expect("options"),
            "stateProvider":
                json_of(|out, error| taskhold_state_provider_options(provider, out, error)).expect("options"),
        })
    };
    assert_eq!(described["defaults"], options);
    assert_eq!(options["manager"]["maximumRetainedTasks"], 1024);
    assert_eq!(options["sessionStore"]["idleTimeoutMs"], 86_400_000);
    assert_eq!(options["stateProvider"]["gracePeriodMs"], 15_000);
    // SAFETY: any handle may be given.
    unsafe {
        assert_eq!(taskhold_manager_close(manager), TASKHOLD_OK);
        assert_eq!(taskhold_session_store_close(sessions), TASKHOLD_OK);
        assert_eq!(taskhold_state_provider_close(provider), TASKHOLD_OK);
    }
}

#[test]
fn a_description_opens_nothing() {
    let _alone = support::alone();
    let live = calls::live_handles();
    describe();
    assert_eq!(calls::live_handles(), live);
}

#[test]
fn a_value_comes_decoded_if_it_is_a_string_and_else_as_it_stands() {
    let document = r#" {"a": {"b": ["x\u00e9\n", 1.50, true, null, {"c" : 1}]}, "~/": "", "": 0} "#;
    let table = [
        ("/a/b/0", Some("xé\n")),
        ("/a/b/1", Some("1.50")),
        ("/a/b/2", Some("true")),
        ("/a/b/3", Some("null")),
        ("/a/b/4", Some(r#"{"c" : 1}"#)),
        ("/~0~1", Some("")),
        ("/", Some("0")),
        ("", Some(document.trim())),
        ("/a/b/5", None),
        ("/a/b/-", None),
        ("/a/b/00", None),
        ("/a/x", None),
        ("/a/b/0/x", None),
    ];
    for (pointer, expected) in table {
        assert_eq!(get(document, pointer).expect(pointer).as_deref(), expected, "{pointer}");
    }
}

#[test]
fn a_value_that_cannot_be_given_out_is_refused() {
    let table = [
        (r#"{"a":"x\u0000y"}"#, "/a", "embedded_nul"),
        (r#"{"a":"x"}"#, "a", "invalid_value"),
        (r#"{"a":"x"}"#, "/~2", "invalid_value"),
        (r#"{"a":"x""#, "/a", "invalid_json"),
        (r#"{"a":1,"a":2}"#, "/a", "duplicate_key"),
    ];
    for (document, pointer, reason) in table {
        let refused = get(document, pointer).expect_err(document);
        assert_eq!((refused.status, refused.reason()), (TASKHOLD_INVALID_ARGUMENT, reason), "{document}");
    }
    assert_eq!(get(r#"{"a":"x\u0000y"}"#, "").expect("its parent").as_deref(), Some(r#"{"a":"x\u0000y"}"#));
}

#[test]
fn what_the_library_gave_out_can_be_read_however_deep_its_payload_is() {
    let _alone = support::alone();
    let manager = calls::open_manager(ptr::null_mut(), "{}");
    let origin = "[".repeat(127) + "\"x\"" + &"]".repeat(127);
    let creation = c(&format!(r#"{{"endpoint":"/mcp","origin":{origin}}}"#));
    // SAFETY: the string lives until the call returns and the outputs are writable.
    let page = unsafe {
        text(|out, error| taskhold_manager_create_task(manager, creation.as_ptr(), out, error))
            .expect("created");
        let list = c(r#"{"includePayload":true}"#);
        text(|out, error| taskhold_manager_list_tasks(manager, list.as_ptr(), out, error)).expect("listed")
    };
    let pointer = "/records/0/origin".to_owned() + &"/0".repeat(127);
    assert_eq!(get(&page.expect("a page"), &pointer).expect("read").as_deref(), Some("x"));
    calls::close_manager(manager);
}

#[test]
fn a_manual_clock_stays_within_four_digit_years_and_runs_forward() {
    let _alone = support::alone();
    let last_ms = 253_402_300_799_999;
    // SAFETY: the outputs are writable and the clock's value may be anything.
    unsafe {
        let open = |ms| calls::handle(|out, error| taskhold_clock_open_manual(ms, out, error));
        assert_eq!(open(last_ms + 1).expect_err("the year 10000").error["key"], "epoch_ms");
        let clock = open(last_ms - 1000).expect("a clock");
        let advance = |ms| calls::plain(|error| taskhold_clock_advance(clock, ms, error));
        let step = |ms| calls::plain(|error| taskhold_clock_step_wall(clock, ms, error));
        for refused in [advance(-1), advance(1001), step(1001), step(i64::MIN)] {
            let refused = refused.expect_err("out of range");
            assert_eq!((refused.reason(), &refused.error["key"]), ("invalid_value", &json!("ms")));
        }
        advance(1000).expect("the last instant");
        step(-1000).expect("back");
        assert_eq!(taskhold_clock_close(clock), TASKHOLD_OK);
    }
}
