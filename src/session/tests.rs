//! The rules over rows, and what a handle keeps beside the table.

use std::borrow::Cow;
use std::sync::Arc;

use super::creation::Creation;
use super::expired::ExpiredSessions;
use super::options::Options;
use super::pins::Pins;
use super::snapshot::Snapshot;
use super::transitions::{self, Outcome};
use crate::clock::{NANOS_PER_MILLI, Now};
use crate::error::Reason;
use crate::store::{Change, ExpiryListener, Row, SessionRow};

const NOW: Now = Now { wall_ms: 1_700_000_000_000, tick_ns: 5_000 * NANOS_PER_MILLI };

/// [`NOW`] and `ms` later on both clocks.
fn after(ms: i64) -> Now {
    Now { wall_ms: NOW.wall_ms + ms, tick_ns: NOW.tick_ns + ms * NANOS_PER_MILLI }
}

fn row() -> SessionRow {
    let creation = Creation {
        session_id: Cow::Borrowed("s"),
        endpoint: "/mcp",
        partition: Some(Cow::Borrowed("p")),
        context: r#"{"a": 1}"#,
        instance: 7,
    };
    let options =
        Options::parse(Some(r#"{"idleTimeoutMs":1000,"initializationTimeoutMs":300}"#)).expect("valid");
    transitions::create(None, &creation, &options, NOW).expect("created").0
}

/// What `row` becomes when its text is edited and handed in.
fn replaced(row: &SessionRow, edits: &[(&str, &str)], now: Now) -> SessionRow {
    let next = (format!("\"version\":{}", row.version), format!("\"version\":{}", row.version + 1));
    let mut text = row.snapshot.replace(&next.0, &next.1);
    for (from, to) in edits {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    let updated = Snapshot::parse(&text).expect("well-formed");
    match transitions::replace(Some(row), &row.snapshot, &updated, now).expect("allowed") {
        (Change::Put(row), Outcome::Replaced) => row,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_new_row_mirrors_its_snapshot() {
    let row = row();
    assert_eq!((&*row.id, &*row.endpoint, row.partition.as_deref()), ("s", "/mcp", Some("p")));
    assert_eq!((row.created_ms, row.last_activity_ms), (NOW.wall_ms, NOW.wall_ms));
    assert_eq!(
        (row.created_tick_ns, row.active_tick_ns, row.unpinned_tick_ns),
        (NOW.tick_ns, NOW.tick_ns, None)
    );
    assert_eq!(
        (row.initialized, row.terminated, row.version, row.pins, row.instance),
        (false, false, 0, 0, 7)
    );
    assert_eq!((row.idle_timeout_ms, row.initialization_timeout_ms), (1000, 300));
    assert!(row.takes_slot());
    let snapshot = Snapshot::parse(&row.snapshot).expect("well-formed");
    assert_eq!((&*snapshot.session_id, &*snapshot.endpoint), ("s", "/mcp"));
    assert_eq!(snapshot.created_ms, NOW.wall_ms);
}

#[test]
fn a_taken_id_is_refused() {
    let creation =
        Creation { session_id: "s".into(), endpoint: "", partition: None, context: "{}", instance: 8 };
    let options = Options::parse(None).expect("valid");
    let refused = transitions::create(Some(&row()), &creation, &options, NOW).expect_err("taken");
    assert_eq!(refused.reason(), Reason::SessionIdInUse);
}

#[test]
fn deadlines_begin_one_nanosecond_after_the_timeout() {
    let mut row = row();
    let deadline = |since: i64, ms: i64| Some(since + ms * NANOS_PER_MILLI + 1);
    assert_eq!(row.idle_at(), deadline(row.active_tick_ns, 1000));
    assert_eq!(row.initialization_overdue_at(), deadline(row.created_tick_ns, 300));
    assert_eq!(row.expires_at(), row.initialization_overdue_at());
    row.pins = 1;
    assert_eq!((row.idle_at(), row.expires_at()), (None, row.initialization_overdue_at()));
    row.initialized = true;
    assert_eq!(row.expires_at(), None);
    row.pins = 0;
    assert_eq!(row.expires_at(), row.idle_at());
    row.unpinned_tick_ns = Some(row.active_tick_ns + 5);
    assert_eq!(row.idle_at(), deadline(row.active_tick_ns + 5, 1000));
    row.unpinned_tick_ns = Some(row.active_tick_ns - 5);
    assert_eq!(row.idle_at(), deadline(row.active_tick_ns, 1000));
    (row.idle_timeout_ms, row.initialized, row.initialization_timeout_ms) = (0, false, 0);
    assert_eq!(row.expires_at(), None);
}

#[test]
fn the_active_tick_follows_the_activity() {
    // (lastActivityAt of the update, its active tick) when it is stored 800 ms after the creation.
    let cases = [
        ("2023-11-14T22:13:20.000Z", 0),
        ("2023-11-14T22:13:20.700Z", 700),
        ("2023-11-14T22:13:20.800Z", 800),
        ("2023-11-14T22:13:21.800Z", 800),
        ("2023-11-14T22:13:19.999Z", -1),
    ];
    for (activity, tick_ms) in cases {
        let edit =
            ("\"lastActivityAt\":\"2023-11-14T22:13:20.000Z", format!("\"lastActivityAt\":\"{activity}"));
        let replaced = replaced(&row(), &[(edit.0, &edit.1)], after(800));
        assert_eq!(replaced.active_tick_ns, after(tick_ms).tick_ns, "{activity}");
        assert_eq!(replaced.created_tick_ns, NOW.tick_ns);
    }
}

#[test]
fn a_stepped_wall_clock_does_not_move_an_activity_that_is_as_it_was() {
    for step in [-3_600_000, 3_600_000] {
        let now = Now { wall_ms: NOW.wall_ms + step, ..after(10) };
        assert_eq!(replaced(&row(), &[], now).active_tick_ns, NOW.tick_ns);
    }
}

#[test]
fn termination_frees_the_slot_and_starts_the_last_idle_time() {
    let terminated = replaced(
        &row(),
        &[("\"terminatedAt\":null", "\"terminatedAt\":\"2023-11-14T22:13:20.001Z\"")],
        after(200),
    );
    assert!(!terminated.takes_slot());
    assert_eq!(terminated.active_tick_ns, after(200).tick_ns);
    let again = replaced(
        &terminated,
        &[("\"lastActivityAt\":\"2023-11-14T22:13:20.000Z", "\"lastActivityAt\":\"2023-11-14T22:13:20.300Z")],
        after(300),
    );
    assert!(!again.takes_slot());
    assert_eq!(again.active_tick_ns, after(200).tick_ns);
}

#[test]
fn only_the_stored_text_is_replaced() {
    let row = row();
    let text = row.snapshot.replace("\"version\":0", "\"version\":1");
    let updated = Snapshot::parse(&text).expect("well-formed");
    let (change, outcome) = transitions::replace(None, &row.snapshot, &updated, NOW).expect("no refusal");
    assert!(matches!((change, outcome), (Change::Keep, Outcome::Absent)));
    let (change, outcome) = transitions::replace(Some(&row), &text, &updated, NOW).expect("no refusal");
    let (Change::Keep, Outcome::Differs(stored)) = (change, outcome) else { panic!("replaced") };
    assert!(Arc::ptr_eq(&stored, &row.snapshot));
}

#[test]
fn pins_are_counted_and_never_below_zero() {
    let once = row().pinned();
    let twice = once.pinned();
    assert_eq!((once.pins, twice.pins, twice.version), (1, 2, 0));
    assert!(Arc::ptr_eq(&twice.snapshot, &once.snapshot));
    let one_left = twice.unpinned(1, after(5).tick_ns);
    assert_eq!((one_left.pins, one_left.unpinned_tick_ns), (1, None));
    for count in [1, 2, u32::MAX] {
        let free = one_left.unpinned(count, after(5).tick_ns);
        assert_eq!((free.pins, free.unpinned_tick_ns), (0, Some(after(5).tick_ns)));
    }
}

#[test]
fn a_handle_gives_back_each_pin_once() {
    let pins = Pins::default();
    for instance in [1, 1, 2, 1] {
        assert!(pins.add("s", instance));
    }
    let taken = pins.take("s").expect("held");
    assert_eq!(taken.instance(), 1);
    taken.released();
    // One that was not let go is held again.
    drop(pins.take("s"));
    let rest = pins.end().expect("ended once");
    assert!(pins.end().is_none());
    assert!(!pins.add("s", 3));
    assert_eq!(rest, [(Arc::from("s"), 1, 2), (Arc::from("s"), 2, 1)]);
    assert!(pins.take("s").is_none());
}

#[test]
fn a_handle_forgets_pins_on_what_is_gone() {
    let pins = Pins::default();
    pins.add("s", 7);
    pins.add("s", 9);
    pins.expired(&row());
    assert_eq!(pins.take("s").expect("pinned by nobody, so not looked for").instance(), 7);
    pins.expired(&row().pinned());
    pins.forget("unknown", 7);
    let taken = pins.take("s").expect("another session");
    assert_eq!(taken.instance(), 9);
    taken.released();
    assert!(pins.take("s").is_none());
}

#[test]
fn expired_sessions_are_kept_up_to_the_bound() {
    let expired = ExpiredSessions::new(2);
    assert_eq!(expired.take().as_str(), "[]");
    for id in ["a", "b", "c"] {
        expired.expired(&SessionRow { id: id.into(), ..row() });
    }
    let kept = r#"[{"reason":"uninitialized","sessionId":"b","endpoint":"/mcp"},{"reason":"uninitialized","sessionId":"c","endpoint":"/mcp"}]"#;
    assert_eq!(expired.take().as_str(), kept);
    assert_eq!(expired.take().as_str(), "[]");
}

#[test]
fn the_limit_that_was_met_first_is_the_reason() {
    let uninitialized = row();
    let initialized = SessionRow { initialized: true, ..row() };
    let idle_first = SessionRow { initialization_timeout_ms: 1001, ..row() };
    let pinned = SessionRow { initialization_timeout_ms: 1001, pins: 1, ..row() };
    let cases = [
        (uninitialized, "uninitialized"),
        (initialized, "idle"),
        (idle_first, "idle"),
        (pinned, "uninitialized"),
    ];
    for (row, reason) in cases {
        let expired = ExpiredSessions::new(1);
        expired.expired(&row);
        assert!(expired.take().as_str().starts_with(&format!("[{{\"reason\":\"{reason}\"")));
    }
}
