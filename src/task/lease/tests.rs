use super::super::fixtures::{ANY, FORM, answered, answers, at, created, created_with, text};
use super::super::transitions::{self, Asking, Ending, Taking};
use super::super::{input, lapse};
use super::*;
use crate::clock::Moment;
use crate::store::WorkState;

const QUEUED: &str = r#"{"endpoint":"/mcp","origin":{},"queue":"q","attempts":{"maximum":3,"backoffMs":1000,"maximumBackoffMs":3000}}"#;
const ONCE: &str = r#"{"endpoint":"/mcp","origin":{},"queue":"q"}"#;
const LEASED: &str = r#"{"endpoint":"/mcp","origin":{},"lease":{"worker":"w","leaseMs":10000}}"#;
const OPERATION: &str = r#"{"endpoint":"/mcp","origin":{},"operationId":"o"}"#;

fn hold(seconds: i64) -> Hold {
    Hold { worker: text("w"), lease_ms: seconds * 1000 }
}

fn under(token: u64) -> Preconditions {
    Preconditions { authority: Authority::Lease(token), ..ANY }
}

fn forced() -> Preconditions {
    Preconditions { authority: Authority::Forced, ..ANY }
}

/// A queued task claimed at second 1 for ten seconds.
fn claimed(creation: &str) -> TaskRow {
    claim(&created_with(creation), &hold(10), at(1)).expect("claimable")
}

fn stored(change: Result<Change<TaskRow>>) -> TaskRow {
    match change.unwrap() {
        Change::Put(row) | Change::PutUnannounced(row) => row,
        other => panic!("nothing was stored: {other:?}"),
    }
}

fn ask(row: &TaskRow, parks: bool, preconditions: Preconditions, now: Now) -> Result<Change<TaskRow>> {
    let requests = input::parse_requests(&format!("{{\"a\":{FORM}}}"), 1000).unwrap();
    let asking = Asking { parks, checkpoint: None };
    transitions::request_input(row, &requests, Some(&text("?")), &asking, preconditions, now)
}

fn work(row: &TaskRow) -> &Work {
    row.work.as_deref().expect("work")
}

fn second(moment: Option<Moment>) -> Option<i64> {
    moment.map(|moment| moment.tick_ns / 1_000_000_000)
}

fn state(row: &TaskRow, now: Now) -> &'static str {
    lapse::as_of(row, now).work_state(now).map_or("none", WorkState::name)
}

fn reason(change: Result<Change<TaskRow>>) -> &'static str {
    change.map_or_else(|error| error.reason().name(), |_| "ok")
}

type Move = Box<dyn Fn(&TaskRow, Preconditions) -> Result<Change<TaskRow>>>;

fn moves() -> Vec<(&'static str, Move)> {
    vec![
        (
            "mark working",
            Box::new(|row, under| transitions::mark_working(row, None, None, None, under, at(2))),
        ),
        ("request input", Box::new(|row, under| ask(row, false, under, at(2)))),
        ("take", Box::new(|row, under| Ok(transitions::take_responses(row, &Taking::default(), under)?.0))),
        (
            "complete",
            Box::new(|row, under| transitions::end(row, Ending::Completed("{}"), None, under, at(2))),
        ),
        ("fail", Box::new(|row, under| transitions::end(row, Ending::Failed("{}"), None, under, at(2)))),
        ("cancel", Box::new(|row, under| transitions::end(row, Ending::Cancelled, None, under, at(2)))),
        (
            "release",
            Box::new(|row, under| {
                release(row, &Release { authority: under.authority, ..Release::default() }, at(2))
            }),
        ),
    ]
}

#[test]
fn only_the_current_lease_moves_a_fenced_task_on() {
    let once = claimed(ONCE);
    let ended = stored(transitions::end(&once, Ending::Cancelled, None, under(1), at(2)));
    #[rustfmt::skip]
    let expected = [
        // nothing said, the token 1, the token 2, by force
        ("unclaimed", created_with(ONCE), ["lease_required", "lease_lost", "lease_lost", "ok"]),
        ("claimed", once, ["lease_required", "ok", "lease_lost", "ok"]),
        ("created with a lease", created_with(LEASED), ["lease_required", "ok", "lease_lost", "ok"]),
        ("operation", created_with(OPERATION), ["ok", "lease_lost", "lease_lost", "ok"]),
        ("plain", created(), ["ok", "lease_lost", "lease_lost", "ok"]),
        ("ended", ended, ["task_terminal"; 4]),
    ];
    for (state, row, expected) in expected {
        for (name, step) in moves() {
            for (demanded, expected) in [ANY, under(1), under(2), forced()].into_iter().zip(expected) {
                let expected = match (name, state, expected) {
                    ("take", "ended", _) => "ok",
                    ("release", "operation" | "plain", "ok") if demanded == ANY => "lease_required",
                    ("release", "operation" | "plain" | "created with a lease", "ok") => "not_queued",
                    (_, _, expected) => expected,
                };
                assert_eq!(reason(step(&row, demanded)), expected, "{name} of {state} under {demanded:?}");
            }
        }
    }
}

#[test]
fn the_lease_is_judged_before_the_revision_and_cancelation() {
    let row = claimed(ONCE);
    let stale = Preconditions { expected_revision: Some(9), ..under(7) };
    assert_eq!(reason(ask(&row, false, stale, at(2))), "lease_lost");
    let stale = Preconditions { expected_revision: Some(9), unless_cancelation_requested: true, ..under(1) };
    assert_eq!(reason(ask(&row, false, stale, at(2))), "revision_mismatch");
}

#[test]
fn a_claim_holds_the_task_and_begins_an_attempt() {
    let row = created_with(QUEUED);
    assert_eq!((work(&row).attempt, state(&row, at(0))), (0, "ready"));
    let held = claim(&row, &hold(10), at(1)).unwrap();
    assert_eq!((work(&held).attempt, work(&held).token, held.revision), (1, 1, 2));
    assert_eq!((held.updated_ms, second(work(&held).available_at)), (row.updated_ms, Some(0)));
    assert_eq!(state(&held, at(10)), "leased");
    assert!(claim(&held, &hold(10), at(10)).is_none(), "held");
    // From the lapse on it is the backoff that counts.
    assert_eq!(state(&held, at(11)), "scheduled");
    assert!(claim(&held, &hold(10), at(11)).is_none(), "not yet");
    let again = claim(&held, &hold(10), at(12)).unwrap();
    assert_eq!((work(&again).attempt, work(&again).token), (2, 2));
    assert_eq!(second(work(&again).available_at), Some(12));
    // The second backoff is twice as long, and the third attempt is the last.
    assert_eq!(second(again.due_at()), Some(24));
    let last = claim(&again, &hold(10), at(30)).unwrap();
    assert_eq!((work(&last).attempt, last.due_at(), second(last.ends_at())), (3, None, Some(40)));
    let scheduled = created_with(&QUEUED.replace("\"queue\"", "\"delayMs\":5000,\"queue\""));
    assert_eq!((state(&scheduled, at(4)), state(&scheduled, at(5))), ("scheduled", "ready"));
    assert!(claim(&scheduled, &hold(1), at(4)).is_none());
    assert!(claim(&created_with(LEASED), &hold(1), at(99)).is_none(), "it has no queue");
}

#[test]
fn backoffs_double_up_to_their_maximum() {
    let attempts = crate::store::Attempts { maximum: 1000, backoff_ms: 1000, maximum_backoff_ms: 60_000 };
    for (number, ms) in
        [(1, 1000), (2, 2000), (3, 4000), (6, 32_000), (7, 60_000), (64, 60_000), (1000, 60_000)]
    {
        assert_eq!(attempts.backoff_after(number), ms, "{number}");
    }
    let none = crate::store::Attempts { backoff_ms: 0, ..attempts };
    assert_eq!(none.backoff_after(1000), 0);
    let long = crate::store::Attempts { backoff_ms: 5, maximum_backoff_ms: i64::MAX, ..attempts };
    assert_eq!(long.backoff_after(1000), i64::MAX);
}

#[test]
fn the_last_lapse_ends_the_task() {
    for row in [claimed(ONCE), claim(&created_with(ONCE), &hold(10), at(1)).unwrap()] {
        assert!(lapse::ended(&row, at(10)).is_none());
        let ended = lapse::ended(&row, at(11)).unwrap();
        assert_eq!(ended.status, TaskStatus::Failed);
        assert_eq!(
            ended.texts.outcome(),
            Some(r#"{"code":-32603,"message":"The work on this task was abandoned."}"#)
        );
        assert_eq!((ended.revision, ended.updated_ms), (row.revision + 1, at(11).wall_ms));
        assert_eq!(lapse::ended(&row, at(500)).unwrap().updated_ms, at(11).wall_ms, "dated by the lapse");
        assert!(work(&ended).lease.is_none() && lapse::ended(&ended, at(600)).is_none());
    }
    let asked = stored(ask(&claimed(ONCE), false, under(1), at(2)));
    assert_eq!(lapse::ended(&asked, at(11)).unwrap().status, TaskStatus::Failed, "asking or not");
    let later = stored(transitions::mark_working(&claimed(ONCE), None, None, None, under(1), at(9)));
    let stepped = TaskRow { updated_ms: at(90).wall_ms, ..later };
    assert_eq!(lapse::ended(&stepped, at(11)).unwrap().updated_ms, at(90).wall_ms, "never back");
    let leased = created_with(LEASED);
    assert_eq!(lapse::ended(&leased, at(10)).unwrap().status, TaskStatus::Failed);
}

#[test]
fn a_lapsed_lease_with_attempts_left_is_current_until_the_next_claim() {
    let row = claimed(QUEUED);
    let shown = lapse::as_of(&row, at(15));
    assert_eq!((second(work(&shown).available_at), shown.revision), (Some(12), row.revision));
    assert!(work(&shown).lease.is_some() && work(&shown).held(at(15)).is_none());
    let renewed = renew(&row, 1, 10_000, Some(&text("1")), at(15)).unwrap();
    assert_eq!((second(renewed.due_at()), renewed.revision), (Some(26), row.revision));
    assert_eq!(work(&renewed).checkpoint.as_deref(), Some("1"));
    assert_eq!(second(work(&lapse::as_of(&renewed, at(16))).available_at), Some(0), "held again");
    let shorter = renew(&renewed, 1, 1000, None, at(16)).unwrap();
    assert_eq!(second(shorter.due_at()), Some(18), "also earlier");
    assert_eq!(work(&shorter).checkpoint.as_deref(), Some("1"));
    assert!(renew(&row, 2, 1, None, at(2)).is_none());
    let other = claim(&row, &hold(10), at(15)).unwrap();
    assert!(renew(&other, 1, 1, None, at(16)).is_none());
    assert_eq!(
        reason(transitions::end(&other, Ending::Completed("{}"), None, under(1), at(16))),
        "lease_lost"
    );
    assert_eq!(reason(transitions::end(&row, Ending::Completed("{}"), None, under(1), at(16))), "ok");
    assert!(renew(&created(), 1, 1, None, at(16)).is_none());
}

#[test]
fn a_release_gives_the_task_back_or_ends_it() {
    let given = |row: &TaskRow, release_: Release<'_>, now| {
        stored(release(row, &Release { authority: Authority::Lease(work(row).token), ..release_ }, now))
    };
    let counted = Release { counts_as_attempt: true, ..Release::default() };
    let row = claimed(QUEUED);
    let back = given(&row, Release { delay_ms: 500, failure: Some("{1}"), ..counted.clone() }, at(3));
    assert_eq!((second(back.due_at()), back.revision, back.updated_ms), (Some(4), 3, row.updated_ms));
    assert_eq!(work(&back).last_failure.as_deref(), Some("{1}"));
    let later = given(&row, Release { delay_ms: 5000, ..counted.clone() }, at(3));
    assert_eq!(second(later.due_at()), Some(8), "the longer of the two");
    let next = claim(&back, &hold(10), at(4)).unwrap();
    assert_eq!(work(&next).attempt, 2);
    let kept = given(&next, counted.clone(), at(5));
    assert_eq!(work(&kept).last_failure.as_deref(), Some("{1}"), "an absent failure keeps it");
    // An orderly shutdown goes on with the same attempt, at the maximum too.
    let mut row = claim(&kept, &hold(10), at(9)).unwrap();
    for _ in 0..3 {
        let free = given(&row, Release { checkpoint: Some(text("2")), ..Release::default() }, at(20));
        assert_eq!(second(free.due_at()), Some(20));
        row = claim(&free, &hold(10), at(20)).unwrap();
        assert_eq!((work(&row).attempt, work(&row).checkpoint.as_deref()), (3, Some("2")));
    }
    let failed = given(&row, counted.clone(), at(21));
    assert_eq!(failed.texts.outcome(), Some(GIVEN_UP));
    let failed = given(&row, Release { failure: Some("{2}"), ..counted.clone() }, at(21));
    assert_eq!((failed.texts.outcome(), work(&failed).last_failure.as_deref()), (Some("{2}"), Some("{2}")));
    // Messages.
    let told = given(&row, Release { message: Message::Set(text("m")), ..Release::default() }, at(22));
    assert_eq!((told.status_message.as_deref(), told.updated_ms), (Some("m"), at(22).wall_ms));
    let held = claim(&told, &hold(10), at(22)).unwrap();
    assert_eq!(given(&held, Release::default(), at(23)).status_message.as_deref(), Some("m"));
    let cleared = Release { message: Message::Cleared, ..Release::default() };
    assert_eq!(given(&held, cleared, at(23)).status_message, None);
}

#[test]
fn a_parked_task_comes_back_with_the_last_answer() {
    let row = claimed(QUEUED);
    let parked = stored(ask(&row, true, under(1), at(2)));
    assert_eq!((state(&parked, at(3)), parked.due_at(), parked.revision), ("parked", None, 3));
    assert!(claim(&parked, &hold(1), at(99)).is_none());
    assert_eq!(reason(ask(&parked, false, under(1), at(3))), "lease_lost");
    let back = answered(&parked, &answers(&["a"]));
    assert_eq!((state(&back, at(3)), second(back.due_at())), ("ready", Some(0)), "at its former place");
    let held = claim(&back, &hold(10), at(3)).unwrap();
    assert_eq!((work(&held).attempt, work(&held).token), (1, 2), "the same attempt");
    let marked = stored(transitions::mark_working(&parked, None, None, None, forced(), at(3)));
    assert_eq!(state(&marked, at(3)), "ready", "an operator may let it go on");
    // An identical repeat parks too.
    let asked = stored(ask(&row, false, under(1), at(2)));
    assert_eq!(state(&asked, at(3)), "leased");
    let repeated = ask(&asked, true, under(1), at(3)).unwrap();
    let Change::PutUnannounced(repeated) = repeated else { panic!("announced") };
    assert_eq!(
        (state(&repeated, at(3)), repeated.revision, repeated.updated_ms),
        ("parked", 4, asked.updated_ms)
    );
    // So does a lapse; its backoff holds, and the next attempt begins.
    assert_eq!((state(&asked, at(11)), asked.due_at()), ("parked", None));
    let back = answered(&asked, &answers(&["a"]));
    assert_eq!((second(back.due_at()), state(&back, at(11))), (Some(12), "scheduled"));
    assert_eq!(work(&claim(&back, &hold(1), at(12)).unwrap()).attempt, 2);
    // A park after the lapse keeps that time, and goes on with the attempt.
    let late = stored(ask(&row, true, under(1), at(11)));
    let back = answered(&late, &answers(&["a"]));
    assert_eq!(
        (second(back.due_at()), work(&claim(&back, &hold(1), at(12)).unwrap()).attempt),
        (Some(12), 1)
    );
    assert_eq!(reason(ask(&created_with(LEASED), true, under(1), at(1))), "not_queued");
    assert_eq!(reason(ask(&created(), true, ANY, at(1))), "not_queued");
}

#[test]
fn cancelation_ends_what_nobody_holds() {
    let request = |row: &TaskRow, now| stored(Ok(transitions::request_cancelation(row, now)));
    let parked = stored(ask(&claimed(QUEUED), true, under(1), at(2)));
    for (name, row, now) in [
        ("free", created_with(QUEUED), at(1)),
        ("parked", parked, at(3)),
        ("lapsed", claimed(QUEUED), at(11)),
    ] {
        let ended = request(&row, now);
        assert_eq!((ended.status, ended.cancelation_requested), (TaskStatus::Cancelled, true), "{name}");
        assert_eq!(
            (ended.revision, ended.updated_ms),
            (row.revision + 1, now.wall_ms),
            "{name}: in one step"
        );
    }
    for row in [claimed(QUEUED), created_with(LEASED), created_with(OPERATION), created()] {
        assert_eq!(request(&row, at(2)).status, TaskStatus::Working);
    }
    let asked = request(&claimed(QUEUED), at(2));
    assert!(claim(&asked, &hold(1), at(99)).is_none());
    let lapsed = lapse::ended(&asked, at(12)).unwrap();
    assert_eq!((lapsed.status, lapsed.updated_ms), (TaskStatus::Cancelled, at(11).wall_ms));
    assert!(lapsed.cancelation_requested && lapsed.texts.outcome().is_none());
    let given = Release { authority: Authority::Lease(1), counts_as_attempt: true, ..Release::default() };
    assert_eq!(stored(release(&asked, &given, at(3))).status, TaskStatus::Cancelled);
    let parked = stored(ask(&asked, true, under(1), at(3)));
    assert_eq!((parked.status, parked.revision), (TaskStatus::Cancelled, asked.revision + 1));
}

#[test]
fn checkpoints_are_kept_under_a_lease_only() {
    let mark = |row: &TaskRow, demanded| {
        transitions::mark_working(row, None, None, Some(&text("[1]")), demanded, at(2))
    };
    assert_eq!(work(&stored(mark(&claimed(ONCE), under(1)))).checkpoint.as_deref(), Some("[1]"));
    for row in [created(), created_with(OPERATION)] {
        assert_eq!(reason(mark(&row, ANY)), "lease_required");
    }
    let asked = answered(&stored(ask(&claimed(ONCE), false, under(1), at(2))), &answers(&["a"]));
    let peek = Taking { peeks: true, checkpoint: None };
    let (change, seen) = transitions::take_responses(&asked, &peek, under(1)).unwrap();
    assert!(matches!(change, Change::Keep));
    let taking = Taking { peeks: false, checkpoint: Some(text("[2]")) };
    let (change, taken) = transitions::take_responses(&asked, &taking, under(1)).unwrap();
    let row = stored(Ok(change));
    assert_eq!((taken.as_str(), row.revision), (seen.as_str(), asked.revision));
    assert_eq!(work(&row).checkpoint.as_deref(), Some("[2]"));
    let (change, taken) = transitions::take_responses(&row, &taking, under(1)).unwrap();
    assert_eq!((taken.as_str(), stored(Ok(change)).revision), ("{}", asked.revision));
}
