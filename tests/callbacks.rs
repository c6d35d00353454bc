//! Subscribers: called in order, on the thread that made the change, free to call anything; and what they
//! were given is released exactly once, whatever happens.

mod support;

use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::thread::{self, ThreadId};

use support::calls::{
    self, Failure, c, close_manager, create_task, find_task, handle, id_of, mark_working, open_manager, plain,
};
use taskhold::ffi::*;

/// What happened, in order.
type Log = Arc<Mutex<Vec<String>>>;

/// The user data of a subscriber: what to do when called and when released.
struct Subscriber {
    name: &'static str,
    log: Log,
    on_change: Box<dyn Fn(&str) + Send + Sync>,
    on_release: Box<dyn Fn() + Send + Sync>,
}

fn log(log: &Log, entry: String) {
    log.lock().expect("not poisoned").push(entry);
}

fn taken(log: &Log) -> Vec<String> {
    std::mem::take(&mut log.lock().expect("not poisoned"))
}

unsafe extern "C" fn on_task_changed(user_data: *mut c_void, task_id: *const c_char) {
    // SAFETY: the user data is a boxed Subscriber until its release; the id is a C string.
    let (subscriber, task_id) = unsafe { (&*user_data.cast::<Subscriber>(), CStr::from_ptr(task_id)) };
    let task_id = task_id.to_str().expect("UTF-8");
    log(&subscriber.log, format!("{} told", subscriber.name));
    (subscriber.on_change)(task_id);
    log(&subscriber.log, format!("{} done", subscriber.name));
}

unsafe extern "C" fn release(user_data: *mut c_void) {
    // SAFETY: the user data is a boxed Subscriber; a second release would be a double free, which the log
    // shows before.
    let subscriber = unsafe { Box::from_raw(user_data.cast::<Subscriber>()) };
    log(&subscriber.log, format!("{} released", subscriber.name));
    (subscriber.on_release)();
}

fn nothing(_task_id: &str) {}

impl Subscriber {
    fn new(name: &'static str, log: &Log, on_change: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { name, log: Arc::clone(log), on_change: Box::new(on_change), on_release: Box::new(|| {}) }
    }

    fn subscribe(self, manager: *mut taskhold_manager) -> Result<*mut taskhold_subscription, Failure> {
        let user_data = Box::into_raw(Box::new(self)).cast();
        // SAFETY: the functions take the boxed Subscriber, on any thread; the outputs are writable.
        handle(|out, error| unsafe {
            taskhold_manager_subscribe(manager, Some(on_task_changed), user_data, Some(release), out, error)
        })
    }
}

fn close(subscription: *mut taskhold_subscription) {
    // SAFETY: any handle may be given.
    assert_eq!(unsafe { taskhold_subscription_close(subscription) }, TASKHOLD_OK);
}

#[test]
fn subscribers_are_told_in_order_of_subscription_on_the_callers_thread() {
    let _alone = support::alone();
    let (entries, threads) = (Log::default(), Arc::new(Mutex::new(Vec::<ThreadId>::new())));
    let manager = open_manager(ptr::null_mut(), "{}");
    let subscriptions = ["first", "second", "third"].map(|name| {
        let threads = Arc::clone(&threads);
        let note = move |_: &str| threads.lock().expect("not poisoned").push(std::thread::current().id());
        Subscriber::new(name, &entries, note).subscribe(manager).expect("subscribed")
    });
    let record = create_task(manager).expect("created");
    let told = ["first told", "first done", "second told", "second done", "third told", "third done"];
    assert_eq!(taken(&entries), told);
    let here = std::thread::current().id();
    assert_eq!(*threads.lock().expect("not poisoned"), [here; 3]);

    close(subscriptions[1]);
    assert_eq!(taken(&entries), ["second released"]);
    mark_working(manager, &id_of(&record), "on").expect("marked");
    assert_eq!(taken(&entries), ["first told", "first done", "third told", "third done"]);

    let last = Subscriber::new("second", &entries, nothing).subscribe(manager).expect("subscribed");
    mark_working(manager, &id_of(&record), "further").expect("marked");
    let told = taken(&entries);
    assert_eq!(told[4..], ["second told", "second done"], "who subscribes again is last");

    for subscription in [subscriptions[0], subscriptions[2], last] {
        close(subscription);
    }
    assert_eq!(taken(&entries), ["first released", "third released", "second released"]);
    mark_working(manager, &id_of(&record), "alone").expect("marked");
    assert_eq!(taken(&entries), Vec::<String>::new());
    close_manager(manager);
}

#[test]
fn what_changes_nothing_is_not_announced_and_publishing_is() {
    let _alone = support::alone();
    let entries = Log::default();
    let manager = open_manager(ptr::null_mut(), "{}");
    let task_id = id_of(&create_task(manager).expect("created"));
    let subscription = Subscriber::new("it", &entries, nothing).subscribe(manager).expect("subscribed");
    let (id, endpoint, unknown) = (c(&task_id), c("/mcp"), c("unknown"));
    // SAFETY: the strings live until the calls return and the outputs are writable.
    unsafe {
        let cancel = taskhold_manager_request_task_cancelation;
        plain(|error| cancel(manager, endpoint.as_ptr(), ptr::null(), id.as_ptr(), error)).expect("asked");
        find_task(manager, &task_id).expect("found");
        mark_working(manager, "unknown", "no").expect_err("not found");
        assert_eq!(taken(&entries), Vec::<String>::new());
        let publish = taskhold_manager_publish_task_changed;
        plain(|error| publish(manager, unknown.as_ptr(), error)).expect("a hint about any id");
    }
    assert_eq!(taken(&entries), ["it told", "it done"]);
    close(subscription);
    close_manager(manager);
}

#[test]
fn a_subscriber_sees_the_new_state_and_may_change_it_again() {
    let _alone = support::alone();
    let entries = Log::default();
    let manager = open_manager(ptr::null_mut(), "{}");
    let (address, seen) = (manager.addr(), Arc::clone(&entries));
    let on_change = move |task_id: &str| {
        let manager = ptr::without_provenance_mut(address);
        let record = find_task(manager, task_id).expect("a call inside of a callback");
        let revision = record["revision"].as_u64().expect("a number");
        log(&seen, format!("revision {revision}"));
        if revision < 3 {
            mark_working(manager, task_id, &revision.to_string()).expect("a change inside of a callback");
        }
    };
    let subscription = Subscriber::new("it", &entries, on_change).subscribe(manager).expect("subscribed");
    create_task(manager).expect("created");
    assert_eq!(
        taken(&entries),
        [
            "it told",
            "revision 1",
            "it told",
            "revision 2",
            "it told",
            "revision 3",
            "it done",
            "it done",
            "it done"
        ]
    );
    close(subscription);
    close_manager(manager);
}

/// The handle of a subscription, for its own callback.
type Slot = Arc<Mutex<usize>>;

fn put(slot: &Slot, subscription: *mut taskhold_subscription) {
    *slot.lock().expect("not poisoned") = subscription.addr();
}

fn close_slot(slot: &Slot) {
    close(ptr::without_provenance_mut(*slot.lock().expect("not poisoned")));
}

#[test]
fn a_subscriber_may_end_its_own_subscription() {
    let _alone = support::alone();
    let (entries, slot) = (Log::default(), Slot::default());
    let manager = open_manager(ptr::null_mut(), "{}");
    let (ended, own) = (Arc::clone(&entries), Arc::clone(&slot));
    let end = move |_: &str| {
        close_slot(&own);
        log(&ended, "closed".to_owned());
    };
    put(&slot, Subscriber::new("it", &entries, end).subscribe(manager).expect("subscribed"));
    let task_id = id_of(&create_task(manager).expect("created"));
    assert_eq!(
        taken(&entries),
        ["it told", "closed", "it done", "it released"],
        "the user data stays until the callback has returned"
    );
    mark_working(manager, &task_id, "on").expect("marked");
    assert_eq!(taken(&entries), Vec::<String>::new());
    close_slot(&slot);
    close_manager(manager);
    assert_eq!(taken(&entries), Vec::<String>::new());
}

#[test]
fn a_subscriber_may_close_the_manager_that_is_calling_it() {
    let _alone = support::alone();
    let live = calls::live_handles();
    let entries = Log::default();
    let manager = open_manager(ptr::null_mut(), "{}");
    let address = manager.addr();
    let end = move |task_id: &str| {
        let manager = ptr::without_provenance_mut(address);
        close_manager(manager);
        assert_eq!(find_task(manager, task_id).expect_err("closed").reason(), "closed");
    };
    let first = Subscriber::new("first", &entries, end).subscribe(manager).expect("subscribed");
    let second = Subscriber::new("second", &entries, nothing).subscribe(manager).expect("subscribed");
    let record = create_task(manager).expect("a call that runs finishes");
    assert_eq!(record["revision"], 1);
    assert_eq!(taken(&entries)[..2], ["first told", "first done"]);
    assert_eq!(create_task(manager).expect_err("closed").reason(), "closed");
    close(first);
    close(second);
    let released = taken(&entries);
    for name in ["first released", "second released"] {
        assert_eq!(released.iter().filter(|entry| *entry == name).count(), 1, "{released:?}");
    }
    assert_eq!(calls::live_handles(), live);
}

#[test]
fn closing_the_manager_first_releases_each_subscriber_once() {
    let _alone = support::alone();
    let entries = Log::default();
    let manager = open_manager(ptr::null_mut(), "{}");
    let subscription = Subscriber::new("it", &entries, nothing).subscribe(manager).expect("subscribed");
    close_manager(manager);
    close(subscription);
    close(subscription);
    assert_eq!(taken(&entries), ["it released"]);
}

#[test]
fn a_release_may_call_the_library() {
    let _alone = support::alone();
    let entries = Log::default();
    let manager = open_manager(ptr::null_mut(), "{}");
    let (address, inner) = (manager.addr(), Arc::clone(&entries));
    let mut subscriber = Subscriber::new("it", &entries, nothing);
    subscriber.on_release = Box::new(move || {
        let manager = ptr::without_provenance_mut(address);
        let next = Subscriber::new("next", &inner, nothing).subscribe(manager).expect("no lock is held");
        create_task(manager).expect("created");
        close(next);
    });
    let subscription = subscriber.subscribe(manager).expect("subscribed");
    close(subscription);
    assert_eq!(taken(&entries), ["it released", "next told", "next done", "next released"]);
    close_manager(manager);
}

#[test]
fn a_failing_subscribe_releases_before_it_returns() {
    let _alone = support::alone();
    let entries = Log::default();
    let manager = open_manager(ptr::null_mut(), "{}");
    let closed = open_manager(ptr::null_mut(), "{}");
    close_manager(closed);
    let store = calls::open_store(ptr::null_mut());
    for (handle, reason) in [(ptr::null_mut(), "null"), (closed, "closed"), (store.cast(), "foreign")] {
        let refused = Subscriber::new("it", &entries, nothing).subscribe(handle).expect_err("refused");
        assert_eq!(refused.reason(), reason);
        assert_eq!(taken(&entries), ["it released"]);
    }

    let user_data = || Box::into_raw(Box::new(Subscriber::new("it", &entries, nothing))).cast::<c_void>();
    // SAFETY: the functions take the boxed Subscriber; the outputs are NULL or writable.
    unsafe {
        let subscribe = taskhold_manager_subscribe;
        let without_function: Result<*mut taskhold_subscription, _> =
            handle(|out, error| subscribe(manager, None, user_data(), Some(release), out, error));
        assert_eq!(without_function.expect_err("refused").error["key"], "on_task_changed");
        assert_eq!(taken(&entries), ["it released"]);
        let without_output = plain(|error| {
            subscribe(manager, Some(on_task_changed), user_data(), Some(release), ptr::null_mut(), error)
        });
        assert_eq!(without_output.expect_err("refused").error["key"], "out_subscription");
        assert_eq!(taken(&entries), ["it released"]);
    }
    calls::close_store(store);
    close_manager(manager);
}

unsafe extern "C" fn count(user_data: *mut c_void, _task_id: *const c_char) {
    // SAFETY: the user data is a Mutex that outlives the subscription.
    *unsafe { &*user_data.cast::<Mutex<u32>>() }.lock().expect("not poisoned") += 1;
}

#[test]
fn a_subscription_needs_no_release() {
    let _alone = support::alone();
    let manager = open_manager(ptr::null_mut(), "{}");
    let told = Mutex::new(0_u32);
    let user_data = (&raw const told).cast_mut().cast();
    // SAFETY: the user data outlives the subscription and the outputs are writable.
    let subscription = handle(|out, error| unsafe {
        taskhold_manager_subscribe(manager, Some(count), user_data, None, out, error)
    })
    .expect("subscribed");
    create_task(manager).expect("created");
    close(subscription);
    create_task(manager).expect("created");
    assert_eq!(*told.lock().expect("not poisoned"), 1);
    close_manager(manager);
}

/// A subscriber that says when it was entered and stays until it is let go.
fn held(entered: Sender<()>, let_go: Receiver<()>) -> impl Fn(&str) + Send + Sync + 'static {
    let (entered, let_go) = (Mutex::new(entered), Mutex::new(let_go));
    move |_| {
        entered.lock().expect("not poisoned").send(()).expect("the test listens");
        let_go.lock().expect("not poisoned").recv().expect("the test lets go");
    }
}

#[test]
fn closing_while_another_thread_is_inside_does_not_block_and_releases_when_it_is_out() {
    let _alone = support::alone();
    let entries = Log::default();
    let manager = open_manager(ptr::null_mut(), "{}");
    let address = manager.addr();
    let ((entered, is_entered), (let_go, is_let_go)) = (channel(), channel());
    let subscription =
        Subscriber::new("it", &entries, held(entered, is_let_go)).subscribe(manager).expect("subscribed");
    std::thread::scope(|scope| {
        let inside = scope.spawn(move || create_task(ptr::without_provenance_mut(address)).map(|_| ()));
        is_entered.recv().expect("the callback runs");
        close(subscription);
        assert_eq!(taken(&entries), ["it told"], "not released while it runs");
        create_task(manager).expect("another call tells nobody any more");
        assert_eq!(taken(&entries), Vec::<String>::new());
        let_go.send(()).expect("it waits");
        inside.join().expect("no panic").expect("created");
        assert_eq!(taken(&entries), ["it done", "it released"]);
    });
    close_manager(manager);
}

#[test]
fn nothing_announced_after_a_close_is_told_and_no_call_begins_after_the_release() {
    let _alone = support::alone();
    let manager = open_manager(ptr::null_mut(), "{}");
    let address = manager.addr();
    for _ in 0..300 {
        let (entries, late) = (Log::default(), Arc::new(Mutex::new(0)));
        let (counted, is_closed) = (Arc::clone(&late), Arc::new(AtomicBool::new(false)));
        let count_late =
            move |task_id: &str| *counted.lock().expect("whole") += usize::from(task_id == "late");
        let subscription =
            Subscriber::new("it", &entries, count_late).subscribe(manager).expect("subscribed");
        let start = Arc::new(Barrier::new(2));
        let (closed, started) = (Arc::clone(&is_closed), Arc::clone(&start));
        let publisher = thread::spawn(move || {
            let manager: *mut taskhold_manager = ptr::without_provenance_mut(address);
            let publish = |task_id: &CStr| {
                let publish = taskhold_manager_publish_task_changed;
                // SAFETY: any handle may be given; the id is a C string; `plain` gives a writable output.
                plain(|error| unsafe { publish(manager, task_id.as_ptr(), error) })
                    .expect("a hint about any id");
            };
            started.wait();
            let mut published_late = 0;
            while published_late < 3 {
                let is_late = closed.load(Ordering::SeqCst);
                published_late += u32::from(is_late);
                publish(if is_late { c"late" } else { c"early" });
            }
        });
        start.wait();
        close(subscription);
        is_closed.store(true, Ordering::SeqCst);
        publisher.join().expect("it published");
        assert_eq!(*late.lock().expect("whole"), 0, "a change announced after the close was told");
        let entries = taken(&entries);
        assert_eq!(entries.last().map(String::as_str), Some("it released"), "a call came after the release");
        assert_eq!(entries.iter().filter(|entry| *entry == "it released").count(), 1);
    }
    close_manager(manager);
}
