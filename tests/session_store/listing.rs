//! Walks over the operators' listing, among changes and over what has expired.

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::thread;

use serde_json::{Value, json};
use taskhold::session::SessionStore;

use crate::support::{create, find, next, world};

/// The ids of a whole walk, page by page.
fn walk(sessions: &SessionStore, page_size: usize) -> Vec<Vec<String>> {
    let (mut pages, mut token) = (Vec::new(), String::new());
    loop {
        let params = json!({"pageSize": page_size, "pageToken": token}).to_string();
        let page = sessions.list_sessions(Some(&params)).unwrap();
        let page: Value = serde_json::from_str(page.as_str()).unwrap();
        assert_eq!(page["corrupt"], json!([]));
        let shown = page["sessions"].as_array().unwrap().iter();
        pages.push(shown.map(|session| session["sessionId"].as_str().unwrap().to_owned()).collect());
        page["nextPageToken"].as_str().unwrap().clone_into(&mut token);
        if token.is_empty() {
            return pages;
        }
    }
}

#[test]
fn a_walk_meets_those_that_stay_once_while_others_come_change_and_go() {
    const STAY: usize = 60;
    const ROUNDS: usize = 14;
    let (_world, sessions) = world(r#"{"concurrentSessionLimit":0}"#);
    let stay: Vec<String> = (0..STAY).map(|number| format!("stays-{number}")).collect();
    for id in &stay {
        create(&sessions, id);
        create(&sessions, &format!("goes-{id}"));
    }
    let (sessions, stay) = (&sessions, &stay);
    let barrier = Barrier::new(4);
    thread::scope(|scope| {
        let barrier = &barrier;
        scope.spawn(move || {
            barrier.wait();
            for id in stay {
                sessions.delete_by_session_id(&format!("goes-{id}")).unwrap();
                create(sessions, &format!("comes-{id}"));
            }
        });
        scope.spawn(move || {
            barrier.wait();
            for id in stay {
                let found = find(sessions, id).unwrap();
                assert!(sessions.replace(&found, &next(&found, &[("initialized", "true")])).unwrap());
            }
        });
        for size in [1, 7] {
            scope.spawn(move || {
                barrier.wait();
                for _ in 0..ROUNDS / size {
                    let met = walk(sessions, size).concat();
                    let met_stay: Vec<&String> = met.iter().filter(|id| id.starts_with("stays")).collect();
                    assert!(met_stay.into_iter().eq(stay), "{met:?}");
                    assert_eq!(met.iter().collect::<BTreeSet<_>>().len(), met.len(), "none twice");
                }
            });
        }
    });
}

#[test]
fn pages_are_full_and_the_last_one_says_so_whatever_has_expired_between() {
    let (world, sessions) = world(r#"{"idleTimeoutMs":0,"initializationTimeoutMs":0}"#);
    let strict = world.open(r#"{"idleTimeoutMs":1000,"initializationTimeoutMs":500}"#);
    let mut stay = Vec::new();
    for number in 0..150 {
        // Pinned, it expires by the other rule, and the store does not know that from the row's deadline alone.
        create(&strict, &format!("goes-{number}"));
        if number % 3 == 0 {
            assert!(strict.pin(&format!("goes-{number}")).unwrap());
        }
        if number % 30 == 29 {
            stay.push(format!("stays-{number}"));
            create(&sessions, &format!("stays-{number}"));
        }
    }
    world.advance(501);
    for size in 1..=6 {
        let pages = walk(&sessions, size);
        assert_eq!(pages, stay.chunks(size).map(<[String]>::to_vec).collect::<Vec<_>>(), "{size}");
    }
}
