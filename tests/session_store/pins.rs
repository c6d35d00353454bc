//! Pins: a session in use does not expire.

use taskhold::session::SessionStore;

use crate::support::{World, at, change, create, find, initialize, is_there, next, world};

const OPTIONS: &str = r#"{"idleTimeoutMs":1000,"initializationTimeoutMs":0}"#;

/// Whether `id` is pinned: nothing else keeps it beyond its idle timeout.
fn outlives_its_timeout(world: &World, sessions: &SessionStore, id: &str) -> bool {
    world.advance(1001);
    is_there(sessions, id)
}

#[test]
fn a_pinned_session_does_not_expire_and_idles_from_the_last_unpin_on() {
    let (world, sessions) = world(OPTIONS);
    create(&sessions, "s");
    assert!(sessions.pin("s").unwrap());
    assert!(sessions.pin("s").unwrap());
    world.advance(100_000);
    sessions.unpin("s").unwrap();
    world.advance(100_000);
    assert!(is_there(&sessions, "s"));
    sessions.unpin("s").unwrap();
    world.advance(1000);
    assert!(is_there(&sessions, "s"));
    world.advance(1);
    assert!(!is_there(&sessions, "s"));
}

#[test]
fn a_pin_is_no_change_of_the_snapshot() {
    let (world, sessions) = world(OPTIONS);
    let created = create(&sessions, "s");
    assert!(sessions.pin("s").unwrap());
    assert_eq!(find(&sessions, "s").as_deref(), Some(created.as_str()));
    // Nor does a replacement lose it.
    let updated = next(&created, &[("initialized", "true")]);
    assert!(sessions.replace(&created, &updated).unwrap());
    assert!(outlives_its_timeout(&world, &sessions, "s"));
    sessions.unpin("s").unwrap();
    assert_eq!(find(&sessions, "s"), Some(updated));
}

#[test]
fn a_replacement_does_not_take_back_what_an_unpin_gave() {
    let (world, sessions) = world(OPTIONS);
    create(&sessions, "s");
    assert!(sessions.pin("s").unwrap());
    world.advance(5000);
    sessions.unpin("s").unwrap();
    change(&sessions, "s", &[("lastActivityAt", &at(1))]);
    world.advance(1000);
    assert!(is_there(&sessions, "s"));
    world.advance(1);
    assert!(!is_there(&sessions, "s"));
}

#[test]
fn later_activity_counts_from_the_activity() {
    let (world, sessions) = world(OPTIONS);
    create(&sessions, "s");
    assert!(sessions.pin("s").unwrap());
    sessions.unpin("s").unwrap();
    world.advance(800);
    change(&sessions, "s", &[("lastActivityAt", &at(800))]);
    world.advance(1000);
    assert!(is_there(&sessions, "s"));
    world.advance(1);
    assert!(!is_there(&sessions, "s"));
}

#[test]
fn unpinning_what_is_not_pinned_is_no_error_and_frees_nothing() {
    let (world, sessions) = world(OPTIONS);
    let other = world.open(OPTIONS);
    sessions.unpin("unknown").unwrap();
    create(&sessions, "s");
    sessions.unpin("s").unwrap();
    assert!(other.pin("s").unwrap());
    sessions.unpin("s").unwrap();
    sessions.unpin("s").unwrap();
    assert!(outlives_its_timeout(&world, &sessions, "s"), "the pin is another handle's");
    other.unpin("s").unwrap();
    other.unpin("s").unwrap();
    assert!(sessions.pin("s").unwrap(), "never below zero: one pin pins");
    assert!(outlives_its_timeout(&world, &sessions, "s"));
    sessions.unpin("s").unwrap();
    assert!(!outlives_its_timeout(&world, &sessions, "s"));
}

#[test]
fn unpinning_what_is_not_pinned_is_no_activity() {
    let (world, sessions) = world(OPTIONS);
    create(&sessions, "s");
    world.advance(500);
    sessions.unpin("s").unwrap();
    world.advance(501);
    assert!(!is_there(&sessions, "s"));
}

#[test]
fn an_absent_session_is_not_pinned() {
    let (world, sessions) = world(OPTIONS);
    assert!(!sessions.pin("unknown").unwrap());
    create(&sessions, "expired");
    world.advance(1001);
    assert!(!sessions.pin("expired").unwrap());
    create(&sessions, "deleted");
    sessions.delete_by_session_id("deleted").unwrap();
    assert!(!sessions.pin("deleted").unwrap());
}

#[test]
fn the_end_of_a_handle_ends_its_pins_and_no_others() {
    for by_drop in [false, true] {
        let (world, sessions) = world(OPTIONS);
        let ending = world.open(OPTIONS);
        for id in ["both", "ending"] {
            create(&sessions, id);
            for _ in 0..3 {
                assert!(ending.pin(id).unwrap());
            }
        }
        assert!(sessions.pin("both").unwrap());
        world.advance(5000);
        if by_drop {
            drop(ending);
        } else {
            ending.close();
            ending.close();
            assert!(!ending.pin("ending").unwrap(), "a handle that has ended keeps no pin");
            ending.unpin("both").unwrap();
        }
        world.advance(1000);
        assert!(is_there(&sessions, "ending"), "idle time starts at the last unpin");
        world.advance(1);
        assert!(!is_there(&sessions, "ending"));
        assert!(is_there(&sessions, "both"));
        sessions.unpin("both").unwrap();
        assert!(!outlives_its_timeout(&world, &sessions, "both"));
    }
}

#[test]
fn a_pin_does_not_hold_a_later_session_with_the_same_id() {
    let (world, sessions) = world(OPTIONS);
    let (owner, other) = (world.open(OPTIONS), world.open(OPTIONS));
    create(&sessions, "s");
    assert!(owner.pin("s").unwrap());
    sessions.delete_by_session_id("s").unwrap();
    // At the same instant, so that nothing but the session itself tells the two apart.
    create(&sessions, "s");
    assert!(other.pin("s").unwrap());
    owner.unpin("s").unwrap();
    assert!(outlives_its_timeout(&world, &sessions, "s"), "the other handle's pin holds");
    other.unpin("s").unwrap();
    assert!(!outlives_its_timeout(&world, &sessions, "s"));
}

#[test]
fn the_end_of_a_handle_does_not_touch_a_later_session_either() {
    let (world, sessions) = world(OPTIONS);
    let ending = world.open(OPTIONS);
    create(&sessions, "s");
    assert!(ending.pin("s").unwrap());
    sessions.delete_by_session_id("s").unwrap();
    create(&sessions, "s");
    assert!(sessions.pin("s").unwrap());
    drop(ending);
    assert!(outlives_its_timeout(&world, &sessions, "s"));
}

#[test]
fn a_pinned_terminated_session_stays_until_it_is_let_go() {
    let (world, sessions) = world(OPTIONS);
    create(&sessions, "s");
    initialize(&sessions, "s");
    assert!(sessions.pin("s").unwrap());
    change(&sessions, "s", &[("terminatedAt", &at(0))]);
    world.advance(5000);
    assert!(is_there(&sessions, "s"));
    sessions.unpin("s").unwrap();
    world.advance(1000);
    assert!(is_there(&sessions, "s"));
    world.advance(1);
    assert!(!is_there(&sessions, "s"));
}

#[test]
fn a_pin_is_deleted_with_its_session() {
    let (_world, sessions) = world(OPTIONS);
    create(&sessions, "s");
    assert!(sessions.pin("s").unwrap());
    sessions.delete_by_session_id("s").unwrap();
    assert!(!is_there(&sessions, "s"));
    sessions.unpin("s").unwrap();
}
