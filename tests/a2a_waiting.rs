//! Waiting for saves, and the events of saves, between threads and between openers of one store.

mod a2a_support;

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use a2a_support::{Stand, events, reason, save, task};
use taskhold::error::Reason;

const LONG: Option<Duration> = Some(Duration::from_mins(1));

#[test]
fn a_save_wakes_all_who_wait_for_the_task_and_nobody_else() {
    let stand = Stand::new();
    let (provider, other) = (Arc::new(stand.provider("{}")), stand.provider("{}"));
    save(&provider, None, &task("t", "working"));
    save(&provider, None, &task("u", "working"));
    let begun = Arc::new(Barrier::new(5));
    let waiters: Vec<_> = (0..4)
        .map(|_| {
            let (provider, begun) = (Arc::clone(&provider), Arc::clone(&begun));
            thread::spawn(move || {
                begun.wait();
                provider.wait_task("t", 1, LONG)
            })
        })
        .collect();
    begun.wait();
    assert_eq!(reason(provider.wait_task("u", 1, Some(Duration::from_millis(20)))), Reason::Timeout);
    assert_eq!(save(&other, None, &task("t", "working")), 2);
    for waiter in waiters {
        assert_eq!(waiter.join().unwrap().unwrap(), 2);
    }
}

#[test]
fn a_wait_ends_when_the_task_goes() {
    let stand = Stand::new();
    let provider = Arc::new(stand.provider(r#"{"activeRetentionMs":5000}"#));
    for end in ["deleted", "expired", "closed"] {
        save(&provider, None, &task("t", "working"));
        let begun = Arc::new(Barrier::new(2));
        let waiter = {
            let (provider, begun) = (Arc::clone(&provider), Arc::clone(&begun));
            thread::spawn(move || {
                begun.wait();
                provider.wait_task("t", 1, LONG)
            })
        };
        begun.wait();
        let expected = match end {
            "deleted" => {
                provider.delete_task(None, "t").unwrap();
                Reason::TaskNotFound
            }
            "expired" => {
                stand.advance(5000);
                Reason::TaskNotFound
            }
            _ => {
                provider.close();
                Reason::ClosedWhileWaiting
            }
        };
        assert_eq!(reason(waiter.join().unwrap()), expected, "{end}");
    }
}

/// Another opener of the file stands for another process: they share nothing but the file.
#[cfg(feature = "sqlite")]
#[test]
fn saves_by_another_process_are_waited_for_and_heard_of() {
    use std::time::Instant;

    use taskhold::a2a::StateProvider;
    use taskhold::clock::Clock;
    use taskhold::store::Store;

    let folder = a2a_support::folder();
    let open = || {
        let options = Some(r#"{"durability": "normal"}"#);
        Store::open(Some(&folder.url("agents.db")), options, Clock::System).unwrap()
    };
    let (here, there) = (open(), open());
    let provider = Arc::new(StateProvider::open(&here, Some(r#"{"announceSaves":true}"#)).unwrap());
    let quiet = StateProvider::open(&here, None).unwrap();
    let other = StateProvider::open(&there, None).unwrap();
    save(&provider, None, &task("t", "working"));
    let (queue, finals) = (provider.open_events(16).unwrap(), quiet.open_events(16).unwrap());

    let waiter = {
        let provider = Arc::clone(&provider);
        thread::spawn(move || provider.wait_task("t", 1, LONG))
    };
    let replicated = r#"{"isReplicated": true, "event": {"n": 1}}"#;
    other.save_task(None, &task("t", "completed"), Some(replicated)).unwrap();
    assert_eq!(waiter.join().unwrap().unwrap(), 2);
    let next = |queue: &taskhold::events::EventQueue| queue.next(LONG).unwrap().as_str().to_owned();
    assert_eq!(next(&queue), r#"{"event":"saved","taskId":"t"}"#);
    assert_eq!(
        provider.read_events("t", None).unwrap().as_str(),
        r#"{"events":[{"revision":2,"event":{"n": 1}}],"revision":2,"missing":false}"#
    );
    save(&other, None, &task("u", "failed"));
    assert_eq!(next(&queue), r#"{"event":"saved","taskId":"u"}"#);
    assert_eq!(next(&queue), r#"{"event":"finalized","taskId":"u"}"#);
    assert_eq!(next(&finals), r#"{"event":"finalized","taskId":"u"}"#);
    assert_eq!(events(&finals), Vec::<String>::new());

    let waiter = thread::spawn(move || provider.wait_task("t", 2, LONG));
    let begun = Instant::now();
    other.delete_task(None, "t").unwrap();
    assert_eq!(reason(waiter.join().unwrap()), Reason::TaskNotFound);
    assert!(begun.elapsed() < Duration::from_secs(30));
}
