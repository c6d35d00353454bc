//! Who is told of what: the pull queue and the subscribers.

use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use taskhold::events::EventQueue;
use taskhold::task::{Subscriber, TaskManager};

use crate::support::{ACCEPT, FORM, House, ROOTS, create, found, manager, revision_of};

const OWNER: Option<&str> = Some("owner");

/// The events that are there, as `kind` or `kind:id` for ids other than `id`.
fn drained(events: &EventQueue, id: &str) -> Vec<String> {
    let mut kinds = Vec::new();
    while let Ok(event) = events.next(Some(Duration::ZERO)) {
        let event: serde_json::Value = serde_json::from_str(event.as_str()).unwrap();
        assert_eq!(event["taskId"], id);
        kinds.push(event["event"].as_str().unwrap().to_owned());
    }
    kinds
}

#[derive(Default)]
struct Log(Mutex<Vec<String>>);

impl Log {
    fn taken(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Subscriber for Log {
    fn task_changed(&self, task_id: &str) {
        self.0.lock().unwrap().push(task_id.to_owned());
    }
}

#[test]
fn each_observable_change_is_announced_once_and_a_no_op_never() {
    let (_house, manager) = manager();
    let (events, log) = (manager.open_events(100).unwrap(), Arc::new(Log::default()));
    let _subscription = manager.subscribe(Arc::clone(&log) as Arc<dyn Subscriber>);
    let id = create(&manager);
    let expect = |step: &str, kinds: &[&str]| {
        assert_eq!(drained(&events, &id), kinds, "{step}");
        let told: Vec<&str> = kinds.iter().filter(|kind| **kind == "changed").map(|_| id.as_str()).collect();
        assert_eq!(log.taken(), told, "{step}");
    };
    let ask = || manager.request_task_input(&id, &format!("{{\"a\":{FORM},\"b\":{ROOTS}}}"), Some("m"), None);
    let update = |responses: &str| manager.update_task("/mcp", OWNER, &id, responses, None).unwrap();
    expect("created", &["changed"]);
    ask().unwrap();
    expect("asked", &["changed"]);
    ask().unwrap();
    expect("asked the same", &[]);
    update(&format!("{{\"zz\":{ACCEPT},\"b\":{ACCEPT}}}"));
    expect("answers that are ignored", &[]);
    update(&format!("{{\"a\":{ACCEPT}}}"));
    expect("an answer", &["changed"]);
    update(r#"{"b":{"roots":[]}}"#);
    expect("the last answer", &["changed"]);
    manager.take_task_input_responses(&id, None).unwrap();
    expect("taken", &[]);
    manager.mark_task_working(&id, Some("p"), None).unwrap();
    expect("working", &["changed"]);
    manager.request_task_cancelation("/mcp", OWNER, &id).unwrap();
    expect("cancelation requested", &["cancelation_requested"]);
    manager.request_task_cancelation("/mcp", OWNER, &id).unwrap();
    expect("requested again", &[]);
    assert!(manager.complete_task(&id, "{}", None, Some(r#"{"unlessCancelationRequested":true}"#)).is_err());
    expect("refused", &[]);
    manager.complete_task(&id, "{}", None, None).unwrap();
    expect("completed", &["changed"]);
    manager.cancel_task(&id, None, None).unwrap_err();
    manager.request_task_cancelation("/mcp", OWNER, &id).unwrap();
    update(&format!("{{\"a\":{ACCEPT}}}"));
    expect("terminal", &[]);
    manager.publish_task_changed(&id).unwrap();
    expect("published", &["changed"]);
}

#[test]
fn subscribers_belong_to_a_manager_and_queues_to_the_table() {
    let house = House::new();
    let (one, same, other) = (house.manager("{}"), house.manager("{}"), house.manager(r#"{"name":"o"}"#));
    let log = Arc::new(Log::default());
    let subscription = one.subscribe(Arc::clone(&log) as Arc<dyn Subscriber>);
    let (events, elsewhere) = (one.open_events(10).unwrap(), other.open_events(10).unwrap());
    let id = create(&same);
    assert_eq!(drained(&events, &id), ["changed"]);
    assert!(log.taken().is_empty());
    one.mark_task_working(&id, None, None).unwrap();
    assert_eq!(log.taken(), [id.as_str()]);
    assert_eq!(drained(&events, &id), ["changed"]);
    assert!(elsewhere.next(Some(Duration::ZERO)).is_err());
    subscription.close();
    one.mark_task_working(&id, None, None).unwrap();
    assert!(log.taken().is_empty());
    assert_eq!(Arc::strong_count(&log), 1, "the subscription let go of its subscriber");
    // A queue outlives the handle that it came from.
    drop(one);
    same.complete_task(&id, "{}", None, None).unwrap();
    assert_eq!(drained(&events, &id), ["changed"], "coalesced");
}

/// Looks at the task when told, and changes it once.
struct Meddler {
    manager: Weak<TaskManager>,
    seen: Mutex<Vec<u64>>,
    subscription: OnceLock<taskhold::task::Subscription>,
}

impl Subscriber for Meddler {
    fn task_changed(&self, task_id: &str) {
        let manager = self.manager.upgrade().unwrap();
        let revision = revision_of(&found(&manager, task_id));
        self.seen.lock().unwrap().push(revision);
        if revision == 1 {
            manager.mark_task_working(task_id, Some("from inside"), None).unwrap();
        } else {
            self.subscription.get().unwrap().close();
        }
    }
}

#[test]
fn a_subscriber_sees_the_change_and_may_call_anything() {
    let (_house, manager) = manager();
    let manager = Arc::new(manager);
    let meddler = Arc::new(Meddler {
        manager: Arc::downgrade(&manager),
        seen: Mutex::default(),
        subscription: OnceLock::new(),
    });
    let subscription = manager.subscribe(Arc::clone(&meddler) as Arc<dyn Subscriber>);
    assert!(meddler.subscription.set(subscription).is_ok());
    let id = create(&manager);
    assert_eq!(*meddler.seen.lock().unwrap(), [1, 2]);
    manager.mark_task_working(&id, None, None).unwrap();
    assert_eq!(*meddler.seen.lock().unwrap(), [1, 2], "it closed its own subscription");
    assert_eq!(Arc::strong_count(&meddler), 1);
}
