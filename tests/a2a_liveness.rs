//! Whether a task is active, final, or both: through the provider, by the clock of the store.

mod a2a_support;

use std::sync::atomic::{AtomicBool, Ordering};

use a2a_support::{Stand, reason, save, task};
use taskhold::a2a::{Liveness, StateProvider};
use taskhold::error::Reason;

/// The three answers, which must agree.
fn answers(provider: &StateProvider, id: &str) -> Liveness {
    let liveness = provider.task_liveness(id).expect("an answer");
    assert_eq!(provider.is_task_active(id).expect("an answer"), liveness.is_active());
    assert_eq!(provider.is_task_finalized(id).expect("an answer"), liveness.is_finalized());
    liveness
}

#[test]
fn every_state_in_every_spelling() {
    let stand = Stand::new();
    let provider = stand.provider("{}");
    let table = [
        ("submitted", false),
        ("TASK_STATE_SUBMITTED", false),
        ("working", false),
        ("TASK_STATE_WORKING", false),
        ("input-required", false),
        ("TASK_STATE_INPUT_REQUIRED", false),
        ("auth-required", false),
        ("TASK_STATE_AUTH_REQUIRED", false),
        ("unknown", false),
        ("TASK_STATE_UNSPECIFIED", false),
        ("paused", false),
        ("TASK_STATE_ON_HOLD", false),
        ("Completed-ish", false),
        ("completed", true),
        ("TASK_STATE_COMPLETED", true),
        ("canceled", true),
        ("cancelled", true),
        ("TASK_STATE_CANCELED", true),
        ("TASK_STATE_CANCELLED", true),
        ("failed", true),
        ("TASK_STATE_FAILED", true),
        ("rejected", true),
        ("TASK_STATE_REJECTED", true),
    ];
    for (state, _) in table {
        save(&provider, Some("ann"), &task(state, state));
    }
    for (state, is_final) in table {
        let expected = if is_final { Liveness::Grace } else { Liveness::Active };
        assert_eq!(answers(&provider, state), expected, "{state}");
    }
    stand.advance(14_999);
    assert_eq!(answers(&provider, "completed"), Liveness::Grace);
    stand.advance(1);
    for (state, is_final) in table {
        let expected = if is_final { Liveness::Finalized } else { Liveness::Active };
        assert_eq!(answers(&provider, state), expected, "{state}");
    }
}

#[test]
fn an_unknown_task_is_neither() {
    let provider = Stand::new().provider("{}");
    assert_eq!(answers(&provider, "t"), Liveness::Absent);
    save(&provider, None, &task("t", "working"));
    provider.delete_task(None, "t").expect("a delete");
    assert_eq!(answers(&provider, "t"), Liveness::Absent);
}

#[test]
fn the_grace_period_may_be_none() {
    let provider = Stand::new().provider(r#"{"gracePeriodMs":0}"#);
    save(&provider, None, &task("t", "failed"));
    assert_eq!(answers(&provider, "t"), Liveness::Finalized);
}

#[test]
fn the_longest_grace_period_does_not_overflow() {
    let stand = Stand::new();
    stand.advance(1_000_000);
    let provider = stand.provider(r#"{"gracePeriodMs":9223372036854}"#);
    save(&provider, None, &task("t", "failed"));
    assert_eq!(answers(&provider, "t"), Liveness::Grace);
}

#[test]
fn saving_a_final_task_again_does_not_restart_the_grace_period() {
    let stand = Stand::new();
    let provider = stand.provider(r#"{"gracePeriodMs":1000}"#);
    save(&provider, None, &task("t", "completed"));
    stand.advance(999);
    save(&provider, None, &task("t", "completed"));
    save(&provider, None, &task("t", "canceled"));
    provider.save_task(None, &task("t", "failed"), Some(r#"{"isReplicated":true}"#)).expect("a save");
    assert_eq!(answers(&provider, "t"), Liveness::Grace);
    stand.advance(1);
    assert_eq!(answers(&provider, "t"), Liveness::Finalized);
    save(&provider, None, &task("t", "completed"));
    assert_eq!(answers(&provider, "t"), Liveness::Finalized);
}

#[test]
fn a_refused_save_does_not_touch_the_grace_period() {
    let stand = Stand::new();
    let provider = stand.provider(r#"{"gracePeriodMs":1000}"#);
    save(&provider, None, &task("t", "completed"));
    stand.advance(500);
    assert_eq!(reason(provider.save_task(None, &task("t", "working"), None)), Reason::TaskFinal);
    assert_eq!(answers(&provider, "t"), Liveness::Grace);
    stand.advance(500);
    assert_eq!(reason(provider.save_task(None, &task("t", "submitted"), None)), Reason::TaskFinal);
    assert_eq!(answers(&provider, "t"), Liveness::Finalized);
}

#[test]
fn a_task_saved_anew_has_a_grace_period_of_its_own() {
    let stand = Stand::new();
    let provider = stand.provider(r#"{"gracePeriodMs":1000}"#);
    save(&provider, None, &task("t", "completed"));
    stand.advance(1000);
    provider.delete_task(None, "t").expect("a delete");
    save(&provider, None, &task("t", "completed"));
    assert_eq!(answers(&provider, "t"), Liveness::Grace);
}

#[test]
fn the_wall_clock_does_not_count_in_memory() {
    let stand = Stand::in_memory();
    let provider = stand.provider(r#"{"gracePeriodMs":1000,"finalizedRetentionMs":2000}"#);
    save(&provider, None, &task("t", "completed"));
    stand.clock.step_wall(86_400_000).expect("a step");
    assert_eq!(answers(&provider, "t"), Liveness::Grace);
    stand.clock.step_wall(-2 * 86_400_000).expect("a step");
    stand.advance(1000);
    assert_eq!(answers(&provider, "t"), Liveness::Finalized);
    stand.advance(1000);
    assert_eq!(answers(&provider, "t"), Liveness::Absent);
}

#[test]
fn each_provider_has_its_own_grace_period_over_the_same_task() {
    let stand = Stand::new();
    let (short, long) =
        (stand.provider(r#"{"gracePeriodMs":10}"#), stand.provider(r#"{"gracePeriodMs":20}"#));
    save(&short, None, &task("t", "completed"));
    stand.advance(10);
    assert_eq!((answers(&short, "t"), answers(&long, "t")), (Liveness::Finalized, Liveness::Grace));
}

/// While a task becomes final, every look finds it active, or final, or both, and never goes back.
#[test]
fn an_existing_task_is_never_neither() {
    let provider = Stand::new().provider("{}");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut looks = 0u64;
            let mut was_final = [false; 50];
            while !done.load(Ordering::Acquire) {
                for (at, was_final) in was_final.iter_mut().enumerate() {
                    let id = format!("t{at}");
                    let liveness = provider.task_liveness(&id).expect("an answer");
                    if liveness == Liveness::Absent {
                        continue;
                    }
                    assert!(liveness.is_active() || liveness.is_finalized());
                    assert!(liveness.is_finalized() || !*was_final, "a final task went back");
                    *was_final = liveness.is_finalized();
                    looks += 1;
                }
            }
            looks
        });
        for at in 0..50 {
            save(&provider, None, &task(&format!("t{at}"), "working"));
        }
        for at in 0..50 {
            for state in ["working", "completed", "failed"] {
                save(&provider, None, &task(&format!("t{at}"), state));
            }
        }
        done.store(true, Ordering::Release);
        watch.join().expect("the watcher");
    });
    assert!((0..50).all(|at| answers(&provider, &format!("t{at}")) == Liveness::Grace));
}
