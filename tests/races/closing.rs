//! Closing a handle while calls run on it: each ends as it should or is told that the handle is closed, and
//! the store goes on for others.

use super::harness::race;
use super::tasks::CREATION;
use crate::support::calls::{Failure, id_of};
use crate::support::hosts::{Answer, Clock, Events, Manager, Provider, Sessions, Store, record};

/// A task, and handles that are closed.
type Tools = (String, Manager, Events);

/// Whether a call came to an end that a close allows.
fn is_fair(answer: Result<(), Failure>) -> bool {
    answer.map_or_else(
        |refused| ["closed", "closed_while_waiting", "task_not_found"].contains(&refused.reason()),
        |()| true,
    )
}

fn ended(answer: Answer) -> bool {
    is_fair(answer.map(drop))
}

#[test]
fn a_manager() {
    let clock = Clock::open();
    let store = Store::open(&clock);
    let options = r#"{"taskTimeToLiveMs":100}"#;
    let stays = Manager::open(&store, options);
    race(
        |_| {
            clock.advance(100);
            let manager = Manager::open(&store, options);
            let queue = manager.events(4);
            (id_of(&record(stays.create(CREATION))), manager, queue)
        },
        &[
            &|(_, manager, queue): &Tools| {
                manager.close();
                queue.close();
                true
            },
            &|(id, manager, _): &Tools| ended(manager.wait(id, 10, 20_000)),
            &|(id, manager, _): &Tools| {
                [
                    ended(manager.create(CREATION)),
                    ended(manager.mark(id, None, None)),
                    ended(manager.find(id)),
                    ended(manager.list("{}")),
                    ended(manager.update("/mcp", None, id, "{}")),
                ]
                .into_iter()
                .all(|fair| fair)
            },
            // The first events are the other racer's; after them the queue is closed.
            &|(_, _, queue): &Tools| {
                std::iter::repeat_with(|| queue.next(20_000)).find(Result::is_err).is_some_and(ended)
            },
        ],
        |(id, manager, queue), outcomes| {
            assert_eq!(outcomes, [true; 4]);
            assert!(stays.find(&id).expect("no refusal").is_some());
            assert!(manager.find(&id).is_err_and(|refused| refused.reason() == "closed"));
            drop((manager, queue));
            let stats = store.stats();
            assert_eq!((&stats["waiters"], &stats["eventQueues"]), (&0.into(), &0.into()));
        },
    );
}

#[test]
fn a_session_store_and_a_provider() {
    let clock = Clock::open();
    let store = Store::open(&clock);
    let (stays, keeps) = (Sessions::open(&store, "{}"), Provider::open(&store, "{}"));
    race(
        |_| {
            stays.delete("s").expect("deleted");
            keeps.delete(None, "t").expect("deleted");
            stays.create_as("s").expect("no refusal").expect("admitted");
            (Sessions::open(&store, "{}"), Provider::open(&store, "{}"))
        },
        &[
            &|(sessions, provider): &(Sessions, Provider)| {
                sessions.close();
                provider.close();
                true
            },
            &|(sessions, _): &(Sessions, Provider)| {
                is_fair(sessions.pin("s").map(drop))
                    && ended(sessions.find("s"))
                    && is_fair(sessions.unpin("s"))
                    && ended(sessions.take_expired())
            },
            &|(_, provider): &(Sessions, Provider)| {
                is_fair(provider.save(None, r#"{"id":"t","status":{"state":"working"}}"#, None).map(drop))
                    && ended(provider.get(None, "t"))
                    && ended(provider.list(None, "{}"))
            },
        ],
        |(sessions, provider), outcomes| {
            assert_eq!(outcomes, [true; 3]);
            drop((sessions, provider));
            assert!(stays.find("s").expect("no refusal").is_some());
            keeps.get(None, "t").expect("no refusal");
        },
    );
}

#[test]
fn a_store_and_its_clock() {
    let stays = Clock::open();
    race(
        |_| {
            let clock = Clock::open();
            let store = Store::open(&clock);
            let manager = Manager::open(&store, "{}");
            (clock, store, manager)
        },
        &[
            &|(clock, store, _): &(Clock, Store, Manager)| {
                store.close();
                clock.close();
                true
            },
            &|(_, _, manager): &(Clock, Store, Manager)| {
                let id = id_of(&record(manager.create(CREATION)));
                record(manager.complete(&id, "{}", None))["task"]["status"] == "completed"
            },
        ],
        |_, outcomes| {
            assert_eq!(outcomes, [true; 2]);
            stays.advance(1);
        },
    );
}
