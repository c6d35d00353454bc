//! Many threads at once.

use std::collections::HashSet;
use std::sync::Barrier;
use std::thread;

use taskhold::text::Text;

use crate::support::{
    ACCEPT, CREATION, House, ROOTS, create, found, id_of, json, manager, reason, revision_of,
};

const THREADS: usize = 8;
const OWNER: Option<&str> = Some("owner");

/// Runs `act` on all threads at once and gives what came of it.
fn together<T: Send>(act: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let start = Barrier::new(THREADS);
    thread::scope(|scope| {
        let running: Vec<_> = (0..THREADS)
            .map(|number| {
                let (start, act) = (&start, &act);
                scope.spawn(move || {
                    start.wait();
                    act(number)
                })
            })
            .collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn exactly_one_ending_wins() {
    let (_house, manager) = manager();
    for _ in 0..100 {
        let id = create(&manager);
        let outcomes = together(|number| match number % 3 {
            0 => manager.complete_task(&id, &format!("{{\"by\":{number}}}"), None, None),
            1 => manager.fail_task(&id, &format!("{{\"code\":{number},\"message\":\"\"}}"), None, None),
            _ => manager.cancel_task(&id, None, None),
        });
        let (mut won, lost): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
        assert_eq!(won.len(), 1);
        assert_eq!(found(&manager, &id).as_str(), won.pop().unwrap().unwrap().into_text().as_str());
        for refused in lost {
            assert_eq!(reason(refused), "task_terminal");
        }
    }
}

#[test]
fn a_limit_is_exact_among_many() {
    let house = House::new();
    for round in 0..20 {
        let manager = house.manager(&format!(r#"{{"name":"{round}","maximumRetainedTasks":13}}"#));
        let created: Vec<Text> =
            together(|_| (0..5).filter_map(|_| manager.create_task(CREATION).ok()).collect::<Vec<_>>())
                .into_iter()
                .flatten()
                .collect();
        assert_eq!(created.len(), 13);
        assert_eq!(created.iter().map(id_of).collect::<HashSet<_>>().len(), 13);
        assert_eq!(json(&manager.list_tasks(None).unwrap())["records"].as_array().unwrap().len(), 13);
    }
}

#[test]
fn concurrent_changes_are_all_kept() {
    let (_house, manager) = manager();
    for _ in 0..50 {
        let id = create(&manager);
        let requests: Vec<String> = (0..THREADS).map(|number| format!("\"k{number}\":{ROOTS}")).collect();
        manager.request_task_input(&id, &format!("{{{}}}", requests.join(",")), None, None).unwrap();
        together(|number| {
            let response = format!("{{\"k{number}\":{{\"roots\":[]}},\"other\":{ACCEPT}}}");
            manager.update_task("/mcp", OWNER, &id, &response, None).unwrap();
            manager.request_task_cancelation("/mcp", OWNER, &id).unwrap();
        });
        let record = json(&found(&manager, &id));
        assert_eq!(record["task"]["status"], "working");
        assert_eq!(record["cancelationRequested"], true);
        assert_eq!(record["revision"], 2 + THREADS as u64 + 1);
        let taken: HashSet<String> = together(|_| manager.take_task_input_responses(&id, None).unwrap())
            .iter()
            .flat_map(|responses| json(responses).as_object().unwrap().keys().cloned().collect::<Vec<_>>())
            .collect();
        assert_eq!(taken.len(), THREADS, "each response is taken, and by one");
    }
}

#[test]
fn a_request_to_cancel_and_a_conditional_end_never_both_have_it_their_way() {
    let (_house, manager) = manager();
    let unless = Some(r#"{"unlessCancelationRequested":true}"#);
    for _ in 0..200 {
        let id = create(&manager);
        let outcomes = together(|number| match number {
            0 => manager.complete_task(&id, "{}", None, unless).is_ok(),
            1 => manager.request_task_cancelation("/mcp", OWNER, &id).is_ok(),
            _ => manager.find_task(&id).is_ok(),
        });
        let record = json(&found(&manager, &id));
        let completed = record["task"]["status"] == "completed";
        assert_eq!(outcomes[0], completed);
        assert_eq!(record["cancelationRequested"], !completed);
    }
}

#[test]
fn expected_revisions_let_one_through() {
    let (_house, manager) = manager();
    let id = create(&manager);
    for revision in 1..100 {
        let options = format!("{{\"expectedRevision\":{revision}}}");
        let won = together(|_| manager.mark_task_working(&id, None, Some(&options)).is_ok());
        assert_eq!(won.into_iter().filter(|won| *won).count(), 1);
        assert_eq!(revision_of(&found(&manager, &id)), revision + 1);
    }
}
