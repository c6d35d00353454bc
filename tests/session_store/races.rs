//! Threads at once. Barriers put them at the same point; outcomes are counted, never timed.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::support::{at, create, find, is_there, member, next, world};

/// Runs `work` in `threads` threads that begin together, each with its number.
fn at_once(threads: usize, work: impl Fn(usize) + Sync) {
    let barrier = Barrier::new(threads);
    thread::scope(|scope| {
        for number in 0..threads {
            let (barrier, work) = (&barrier, &work);
            scope.spawn(move || {
                barrier.wait();
                work(number);
            });
        }
    });
}

#[test]
fn one_of_many_replacements_wins() {
    const THREADS: usize = 32;
    const ROUNDS: usize = 100;
    let (_world, sessions) = world("{}");
    create(&sessions, "s");
    let barrier = Barrier::new(THREADS);
    let wins: Vec<AtomicUsize> = (0..ROUNDS).map(|_| AtomicUsize::new(0)).collect();
    thread::scope(|scope| {
        for number in 0..THREADS {
            let (barrier, wins, sessions) = (&barrier, &wins, &sessions);
            scope.spawn(move || {
                for win in wins {
                    let expected = find(sessions, "s").unwrap();
                    // Half of them hand back another spelling of the same snapshot.
                    let expected = if number % 2 == 0 { expected } else { expected.replacen('{', "{ ", 1) };
                    let updated = next(&expected, &[("protocolVersion", &format!("\"{number}\""))]);
                    barrier.wait();
                    if sessions.replace(&expected, &updated).unwrap() {
                        win.fetch_add(1, Ordering::Relaxed);
                        assert_eq!(find(sessions, "s"), Some(updated));
                    }
                    barrier.wait();
                }
            });
        }
    });
    assert!(wins.iter().all(|win| win.load(Ordering::Relaxed) == 1));
    assert_eq!(member(&find(&sessions, "s").unwrap(), "version"), ROUNDS);
}

#[test]
fn no_increment_is_lost() {
    const THREADS: usize = 8;
    const EACH: u64 = 100;
    let (_world, sessions) = world("{}");
    create(&sessions, "s");
    at_once(THREADS, |_| {
        for _ in 0..EACH {
            loop {
                let expected = find(&sessions, "s").unwrap();
                let count = member(&expected, "sessionContext")["n"].as_u64().unwrap_or(0);
                let context = format!(r#"{{"n":{}}}"#, count + 1);
                if sessions.replace(&expected, &next(&expected, &[("sessionContext", &context)])).unwrap() {
                    break;
                }
            }
        }
    });
    let last = find(&sessions, "s").unwrap();
    assert_eq!(member(&last, "sessionContext")["n"], EACH * THREADS as u64);
}

#[test]
fn the_limit_is_exact() {
    for _ in 0..20 {
        let (_world, sessions) = world(r#"{"concurrentSessionLimit":25}"#);
        let admitted = AtomicUsize::new(0);
        at_once(16, |_| {
            for _ in 0..5 {
                if sessions.create("/mcp", None).unwrap().is_some() {
                    admitted.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        assert_eq!(admitted.into_inner(), 25);
    }
}

#[test]
fn the_limit_is_exact_while_sessions_go() {
    let (_world, sessions) = world(r#"{"concurrentSessionLimit":8}"#);
    let living = AtomicUsize::new(0);
    at_once(16, |_| {
        for _ in 0..100 {
            let Some(created) = sessions.create("/mcp", None).unwrap() else { continue };
            assert!(living.fetch_add(1, Ordering::SeqCst) < 8);
            living.fetch_sub(1, Ordering::SeqCst);
            let id = member(created.as_str(), "sessionId").as_str().unwrap().to_owned();
            sessions.delete_by_session_id(&id).unwrap();
        }
    });
    let admitted = (0..20).filter(|_| sessions.create("/mcp", None).unwrap().is_some()).count();
    assert_eq!(admitted, 8, "no slot is lost");
}

#[test]
fn one_of_many_creations_gets_the_id() {
    let (_world, sessions) = world("{}");
    for round in 0..50 {
        let creation = format!(r#"{{"sessionId":"{round}"}}"#);
        let admitted = AtomicUsize::new(0);
        at_once(8, |_| {
            if sessions.create("/mcp", Some(&creation)).is_ok() {
                admitted.fetch_add(1, Ordering::Relaxed);
            }
        });
        assert_eq!(admitted.into_inner(), 1);
    }
}

#[test]
fn racing_terminations_free_one_slot() {
    for _ in 0..50 {
        let (_world, sessions) = world(r#"{"concurrentSessionLimit":2}"#);
        let created = create(&sessions, "a");
        create(&sessions, "b");
        at_once(8, |number| {
            let terminated = next(&created, &[("terminatedAt", &at(i64::try_from(number).unwrap()))]);
            let _ = sessions.replace(&created, &terminated).unwrap();
        });
        assert!(sessions.create("/mcp", None).unwrap().is_some());
        assert!(sessions.create("/mcp", None).unwrap().is_none());
    }
}

#[test]
fn pins_and_replacements_do_not_disturb_each_other() {
    let (world, sessions) = world(r#"{"idleTimeoutMs":1000,"initializationTimeoutMs":0}"#);
    create(&sessions, "s");
    assert!(sessions.pin("s").unwrap());
    at_once(8, |number| {
        for _ in 0..200 {
            if number % 2 == 0 {
                assert!(sessions.pin("s").unwrap());
                sessions.unpin("s").unwrap();
            } else {
                let expected = find(&sessions, "s").unwrap();
                let _ = sessions.replace(&expected, &next(&expected, &[])).unwrap();
            }
        }
    });
    world.advance(1001);
    assert!(is_there(&sessions, "s"), "one pin is left");
    sessions.unpin("s").unwrap();
    world.advance(1001);
    assert!(!is_there(&sessions, "s"), "no pin is left");
}

#[test]
fn a_handle_that_ends_while_it_pins_leaves_no_pin() {
    for _ in 0..100 {
        let (world, sessions) = world(r#"{"idleTimeoutMs":1000,"initializationTimeoutMs":0}"#);
        let ending = world.open("{}");
        create(&sessions, "s");
        at_once(4, |number| {
            if number == 0 {
                ending.close();
            } else {
                let _ = ending.pin("s").unwrap();
            }
        });
        world.advance(1001);
        assert!(!is_there(&sessions, "s"));
    }
}
