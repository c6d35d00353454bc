//! One of each kind of handle over one store, with a record of each kind in it, and a snapshot of all that a
//! call could change.

use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use taskhold::ffi::*;

use super::calls::{self, c, handle, json, number, plain, text};

/// The kinds of handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Clock,
    Store,
    Manager,
    Subscription,
    Events,
    SessionStore,
    StateProvider,
}

impl Kind {
    pub const ALL: [Self; 7] = [
        Self::Clock,
        Self::Store,
        Self::Manager,
        Self::Subscription,
        Self::Events,
        Self::SessionStore,
        Self::StateProvider,
    ];

    /// The C type of a parameter that takes it.
    pub fn c_type(self) -> &'static str {
        match self {
            Self::Clock => "taskhold_clock*",
            Self::Store => "taskhold_store*",
            Self::Manager => "taskhold_manager*",
            Self::Subscription => "taskhold_subscription*",
            Self::Events => "taskhold_events*",
            Self::SessionStore => "taskhold_session_store*",
            Self::StateProvider => "taskhold_state_provider*",
        }
    }
}

/// Most bytes of a payload here, small so that tests can exceed it.
pub const PAYLOAD_BYTES: usize = 2000;
pub const SESSION_ID: &str = "the-session";
pub const A2A_ID: &str = "the-a2a-task";
pub const NOW_MS: i64 = 1_764_498_600_000;

/// What the fixture's subscriber was told, in order.
static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// How often each number was released.
pub static RELEASES: AtomicUsize = AtomicUsize::new(0);

pub unsafe extern "C" fn on_task_changed(_user_data: *mut c_void, task_id: *const c_char) {
    // SAFETY: the library gives a C string.
    let task_id = unsafe { std::ffi::CStr::from_ptr(task_id) }.to_string_lossy().into_owned();
    TOLD.lock().expect("not poisoned").push(task_id);
}

pub unsafe extern "C" fn release(_user_data: *mut c_void) {
    RELEASES.fetch_add(1, Ordering::SeqCst);
}

const HELD: &str = r#"{"endpoint":"/mcp","origin":{},"queue":"q","attempts":{"maximum":3},
    "lease":{"worker":"w","leaseMs":60000}}"#;

pub struct Fixture {
    pub clock: *mut taskhold_clock,
    pub store: *mut taskhold_store,
    pub manager: *mut taskhold_manager,
    pub subscription: *mut taskhold_subscription,
    pub events: *mut taskhold_events,
    pub sessions: *mut taskhold_session_store,
    pub provider: *mut taskhold_state_provider,
    pub task_id: String,
    /// A task of a queue, held under the lease 1.
    pub held_task_id: String,
    /// The session as it is stored.
    pub session: String,
}

impl Fixture {
    /// The task waits for two answers, so that every operation on it has something to do.
    pub fn new() -> Self {
        let options = format!(r#"{{"maximumPayloadBytes":{PAYLOAD_BYTES}}}"#);
        let clock = open_clock();
        let store = calls::open_store(clock);
        let manager = calls::open_manager(store, &options);
        let sessions = calls::open_sessions(store, r#"{"keepExpired":4}"#);
        let provider = calls::open_provider(store, &options);
        let task_id = calls::id_of(&calls::create_task(manager).expect("created"));
        request_input(manager, &task_id);
        let held_task_id = calls::id_of(&calls::create_task_with(manager, HELD).expect("created"));
        let session = create_session(sessions);
        save_a2a_task(provider);
        let subscription = subscribe(manager);
        let events = calls::open_events(manager, 8);
        TOLD.lock().expect("not poisoned").clear();
        Self {
            clock,
            store,
            manager,
            subscription,
            events,
            sessions,
            provider,
            task_id,
            held_task_id,
            session,
        }
    }

    /// The fixture's handle of a kind, as a word.
    pub fn handle(&self, kind: Kind) -> u64 {
        let address = match kind {
            Kind::Clock => self.clock.addr(),
            Kind::Store => self.store.addr(),
            Kind::Manager => self.manager.addr(),
            Kind::Subscription => self.subscription.addr(),
            Kind::Events => self.events.addr(),
            Kind::SessionStore => self.sessions.addr(),
            Kind::StateProvider => self.provider.addr(),
        };
        address as u64
    }

    /// The session with a greater version, as `replace` takes it.
    pub fn next_session(&self) -> String {
        let mut session: Value = serde_json::from_str(&self.session).expect("JSON");
        session["version"] = 1.into();
        session["initialized"] = true.into();
        session.to_string()
    }

    /// All that a call could change: the records, how the store is filled, and what was announced.
    pub fn snapshot(&self) -> Vec<String> {
        let (params, list) = (c(r#"{"includePayload":true}"#), c(r#"{"includeRevisions":true}"#));
        let session_id = c(SESSION_ID);
        // SAFETY: the strings live until the calls return and the outputs are writable.
        let texts = unsafe {
            [
                text(|out, error| taskhold_manager_list_tasks(self.manager, params.as_ptr(), out, error)),
                text(|out, error| {
                    let find = taskhold_session_store_find_by_session_id;
                    find(self.sessions, session_id.as_ptr(), out, error)
                }),
                text(|out, error| taskhold_session_store_take_expired(self.sessions, out, error)),
                text(|out, error| {
                    let tasks = taskhold_state_provider_list_tasks;
                    tasks(self.provider, ptr::null(), list.as_ptr(), out, error)
                }),
                text(|out, error| taskhold_store_stats(self.store, out, error)),
            ]
        };
        let mut snapshot: Vec<_> =
            texts.into_iter().map(|text| text.expect("a live fixture").unwrap_or_default()).collect();
        snapshot.extend(TOLD.lock().expect("not poisoned").iter().cloned());
        snapshot.extend(calls::next_event(self.events, 0).map(|event| event.to_string()));
        snapshot
    }

    /// Closes everything; a handle that a test closed before does not matter.
    pub fn close(self) {
        // SAFETY: any handle may be given.
        unsafe {
            assert_eq!(taskhold_subscription_close(self.subscription), TASKHOLD_OK);
            assert_eq!(taskhold_events_close(self.events), TASKHOLD_OK);
            assert_eq!(taskhold_manager_close(self.manager), TASKHOLD_OK);
            assert_eq!(taskhold_session_store_close(self.sessions), TASKHOLD_OK);
            assert_eq!(taskhold_state_provider_close(self.provider), TASKHOLD_OK);
            assert_eq!(taskhold_store_close(self.store), TASKHOLD_OK);
            assert_eq!(taskhold_clock_close(self.clock), TASKHOLD_OK);
        }
    }
}

pub fn open_clock() -> *mut taskhold_clock {
    // SAFETY: the outputs are writable.
    handle(|out, error| unsafe { taskhold_clock_open_manual(NOW_MS, out, error) }).expect("a clock")
}

fn request_input(manager: *mut taskhold_manager, task_id: &str) {
    let (task_id, requests) = (c(task_id), c(r#"{"a":{"method":"roots/list"},"b":{"method":"roots/list"}}"#));
    // SAFETY: the strings live until the call returns and the outputs are writable.
    json(|out, error| unsafe {
        taskhold_manager_request_task_input(
            manager,
            task_id.as_ptr(),
            requests.as_ptr(),
            ptr::null(),
            ptr::null(),
            out,
            error,
        )
    })
    .expect("input is requested");
}

fn create_session(sessions: *mut taskhold_session_store) -> String {
    let (endpoint, creation) = (c("/mcp"), c(&format!(r#"{{"sessionId":"{SESSION_ID}"}}"#)));
    // SAFETY: the strings live until the call returns and the outputs are writable.
    text(|out, error| unsafe {
        taskhold_session_store_create(sessions, endpoint.as_ptr(), creation.as_ptr(), out, error)
    })
    .expect("created")
    .expect("admitted")
}

fn save_a2a_task(provider: *mut taskhold_state_provider) {
    let task = c(&format!(r#"{{"id":"{A2A_ID}","contextId":"c","status":{{"state":"working"}}}}"#));
    // SAFETY: the strings live until the call returns and the outputs are writable.
    let revision = number::<u64>(|out, error| unsafe {
        taskhold_state_provider_save_task(provider, ptr::null(), task.as_ptr(), ptr::null(), out, error)
    });
    assert!(revision.expect("saved") > 0);
}

pub fn subscribe(manager: *mut taskhold_manager) -> *mut taskhold_subscription {
    // SAFETY: the functions may be called on any thread and the outputs are writable.
    handle(|out, error| unsafe {
        taskhold_manager_subscribe(manager, Some(on_task_changed), ptr::null_mut(), Some(release), out, error)
    })
    .expect("subscribed")
}

/// Opens a handle of `kind` and closes it again: its value, as a word.
pub fn closed(kind: Kind) -> u64 {
    let fixture = Fixture::new();
    let word = fixture.handle(kind);
    fixture.close();
    word
}

/// Moves the fixture's clock.
pub fn advance(clock: *mut taskhold_clock, ms: i64) {
    // SAFETY: the output is writable.
    plain(|error| unsafe { taskhold_clock_advance(clock, ms, error) }).expect("advanced");
}
