//! A panic anywhere in the library: the host gets `TASKHOLD_INTERNAL`, nothing has changed, and every handle
//! goes on working. Needs the feature `fault-injection`.

mod support;

use std::ffi::CStr;
use std::sync::Once;
use std::sync::atomic::Ordering;

use support::calls;
use support::erased::Word;
use support::exports::{self, Answer, Export, Role};
use support::fixture::{Fixture, RELEASES};
use support::running::{arguments, run};
use taskhold::fault;
use taskhold::ffi::*;

/// Keeps the injected panics, and only those, off the test's output.
fn hush() {
    static HUSHED: Once = Once::new();
    HUSHED.call_once(|| {
        let shown = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if panic.payload_as_str() != Some("injected at a fault point") {
                shown(panic);
            }
        }));
    });
}

/// Calls `export` with right arguments while `point` is armed, then again while it is not.
fn panic_once(export: &Export, point: &str) {
    let fixture = Fixture::new();
    let before = fixture.snapshot();
    let arguments = arguments(export, &fixture);
    let released = RELEASES.load(Ordering::SeqCst);

    fault::arm(point);
    let ran = run(export, &arguments);
    assert!(!fault::disarm(), "{}: the point {point} was passed", export.name);
    if let Answer::Status(_) = export.answer {
        assert_eq!(ran.status(), TASKHOLD_INTERNAL, "{}", export.name);
        if export.out_error().is_some() {
            assert_eq!(ran.failure().reason(), "panic", "{}", export.name);
        } else {
            ran.assert_cleared();
        }
    }
    let has_release = export.parameters.iter().any(|parameter| matches!(parameter.role, Role::Release));
    let released = RELEASES.load(Ordering::SeqCst) - released;
    assert_eq!(released, usize::from(has_release), "{}: the user data is released once", export.name);
    assert_eq!(fixture.snapshot(), before, "{}: nothing has changed", export.name);

    run(export, &arguments).finish(export.answer);
    fixture.close();
}

#[test]
fn a_panic_in_any_export_is_a_status_and_changes_nothing() {
    let _alone = support::alone();
    hush();
    for export in exports::all() {
        let live = calls::live_handles();
        panic_once(&export, export.name);
        assert_eq!(calls::live_handles(), live, "{}", export.name);
    }
}

#[test]
fn functions_without_a_status_fall_back_to_their_answer() {
    let _alone = support::alone();
    hush();
    for export in exports::all().iter().filter(|export| export.answer == Answer::Plain) {
        if export.parameters.iter().any(|parameter| matches!(parameter.role, Role::Owned)) {
            continue;
        }
        let fixture = Fixture::new();
        let arguments = arguments(export, &fixture);
        fault::arm(export.name);
        let fallen_back = run(export, &arguments).result;
        assert!(!fault::disarm());
        if export.name == "taskhold_status_name" {
            // SAFETY: the name is static and NUL-terminated.
            let name = unsafe { CStr::from_ptr(Word::from_word(fallen_back)) };
            assert_eq!(name, c"unknown");
        } else {
            assert_eq!(fallen_back, run(export, &arguments).result, "{}", export.name);
        }
        fixture.close();
    }
}

/// The exports that change a record, by the point inside of their atomic step.
const TRANSITIONS: [(&str, &[&str]); 3] = [
    (
        "task_transition",
        &[
            "taskhold_manager_create_task",
            "taskhold_manager_mark_task_working",
            "taskhold_manager_request_task_input",
            "taskhold_manager_complete_task",
            "taskhold_manager_fail_task",
            "taskhold_manager_cancel_task",
            "taskhold_manager_take_task_input_responses",
            "taskhold_manager_update_task",
            "taskhold_manager_request_task_cancelation",
            "taskhold_manager_handle_request",
        ],
    ),
    (
        "session_transition",
        &[
            "taskhold_session_store_create",
            "taskhold_session_store_replace",
            "taskhold_session_store_delete_by_session_id",
            "taskhold_session_store_pin",
        ],
    ),
    (
        "a2a_transition",
        &[
            "taskhold_state_provider_save_task",
            "taskhold_state_provider_delete_task",
            "taskhold_state_provider_set_push_config",
            "taskhold_state_provider_delete_push_config",
        ],
    ),
];

#[test]
fn a_panic_in_the_middle_of_a_transition_changes_nothing() {
    let _alone = support::alone();
    hush();
    let exports = exports::all();
    for (point, names) in TRANSITIONS {
        for name in names {
            let export = exports.iter().find(|export| export.name == *name).expect("an export");
            panic_once(export, point);
        }
    }
}
