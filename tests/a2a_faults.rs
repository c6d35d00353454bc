//! A panic in the middle of a transition changes nothing and announces nothing. One test: the armed point is
//! the process's own.

#![cfg(feature = "fault-injection")]

mod a2a_support;

use std::panic::{AssertUnwindSafe, catch_unwind};

use a2a_support::{Stand, events, get, list, save, task};
use taskhold::a2a::Liveness;
use taskhold::fault;

#[test]
fn a_panic_in_a_transition_changes_nothing() {
    let provider = Stand::new().provider(r#"{"maximumRetainedTasks":2}"#);
    let queue = provider.open_events(4).expect("a queue");
    save(&provider, None, &task("t", "working"));
    let panics = |call: &dyn Fn()| {
        fault::arm("a2a_transition");
        assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
        assert!(!fault::disarm(), "the point was passed");
    };
    panics(&|| drop(provider.save_task(None, &task("t", "completed"), None)));
    panics(&|| drop(provider.save_task(None, &task("new", "completed"), None)));
    panics(&|| drop(provider.delete_task(None, "t")));
    assert_eq!(get(&provider, None, "t"), Some((task("t", "working"), 1)));
    assert_eq!(provider.task_liveness("new").expect("an answer"), Liveness::Absent);
    assert_eq!(list(&provider, None, "{}")["totalSize"], 1);
    assert_eq!(events(&queue), Vec::<String>::new());
    save(&provider, None, &task("new", "working"));
    assert_eq!(save(&provider, None, &task("t", "completed")), 2);
    assert_eq!(events(&queue).len(), 1);
}
