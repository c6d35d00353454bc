//! A panic inside a transition of a session changes nothing, and the store goes on.
#![cfg(feature = "fault-injection")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use taskhold::clock::{Clock, ManualClock};
use taskhold::fault;
use taskhold::session::SessionStore;
use taskhold::store::Store;

// One test: what is armed is met by whoever comes by.
#[test]
fn a_panic_changes_nothing() {
    let clock = Arc::new(ManualClock::new(0).unwrap());
    let store = Store::open(None, None, Clock::Manual(Arc::clone(&clock))).unwrap();
    let options = r#"{"concurrentSessionLimit":1,"idleTimeoutMs":1000,"initializationTimeoutMs":0}"#;
    let sessions = SessionStore::open(&store, Some(options)).unwrap();
    let panics = |call: &dyn Fn()| {
        fault::arm("session_transition");
        assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
        assert!(!fault::disarm());
    };
    let find = || sessions.find_by_session_id("s").unwrap().map(|text| text.as_str().to_owned());
    let creation = Some(r#"{"sessionId":"s"}"#);

    panics(&|| drop(sessions.create("/mcp", creation)));
    assert_eq!(find(), None);
    let created = sessions.create("/mcp", creation).unwrap().expect("the slot is free").as_str().to_owned();

    let updated = created.replace("\"version\":0", "\"version\":1");
    panics(&|| drop(sessions.replace(&created, &updated)));
    panics(&|| drop(sessions.delete_by_session_id("s")));
    assert_eq!(find().as_deref(), Some(created.as_str()));

    panics(&|| drop(sessions.pin("s")));
    clock.advance(1001).unwrap();
    assert_eq!(find(), None, "the pin was not taken");

    sessions.create("/mcp", creation).unwrap().unwrap();
    assert!(sessions.pin("s").unwrap());
    panics(&|| drop(sessions.unpin("s")));
    clock.advance(1001).unwrap();
    assert!(find().is_some(), "the pin is still held");
    sessions.unpin("s").unwrap();
    clock.advance(1001).unwrap();
    assert_eq!(find(), None, "and could be let go");
}
