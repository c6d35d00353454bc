//! The exports as a host's binding wraps them: a type for each kind of handle that closes it when dropped,
//! and methods that take and give strings.

mod records;

use std::ffi::{CString, c_char};
use std::ptr;

use serde_json::Value;
use taskhold::ffi::*;

use super::calls::{Failure, c, handle, number, plain, text};
use super::fixture::NOW_MS;
use super::stores::Place;

/// What a call that gives out a text came to.
pub type Answer = Result<Option<String>, Failure>;

/// A C string that may be NULL.
struct Optional(Option<CString>);

impl Optional {
    fn new(text: Option<&str>) -> Self {
        Self(text.map(c))
    }

    fn as_ptr(&self) -> *const c_char {
        self.0.as_ref().map_or(ptr::null(), |text| text.as_ptr())
    }
}

/// The record of a call that must have given one.
pub fn record(answer: Answer) -> Value {
    serde_json::from_str(&answer.expect("the call succeeds").expect("there is a text")).expect("JSON")
}

/// The reason of a call that must have failed.
pub fn reason<T: std::fmt::Debug>(outcome: Result<T, Failure>) -> String {
    outcome.expect_err("the call fails").reason().to_owned()
}

macro_rules! host {
    ($(#[$doc:meta])* $name:ident($raw:ty), $close:ident) => {
        $(#[$doc])*
        pub struct $name(pub *mut $raw);

        // SAFETY: a handle may be used on any thread.
        unsafe impl Send for $name {}
        // SAFETY: and on many at once.
        unsafe impl Sync for $name {}

        impl $name {
            /// Closes the handle; doing it again is fine.
            pub fn close(&self) {
                // SAFETY: any handle may be given.
                assert_eq!(unsafe { $close(self.0) }, TASKHOLD_OK);
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                self.close();
            }
        }
    };
}

host!(
    /// A manual clock.
    Clock(taskhold_clock),
    taskhold_clock_close
);
host!(
    /// A task manager.
    Manager(taskhold_manager),
    taskhold_manager_close
);
host!(
    /// An event queue.
    Events(taskhold_events),
    taskhold_events_close
);
host!(
    /// A session store.
    Sessions(taskhold_session_store),
    taskhold_session_store_close
);
host!(
    /// A state provider.
    Provider(taskhold_state_provider),
    taskhold_state_provider_close
);

impl Clock {
    pub fn open() -> Self {
        // SAFETY: the outputs are writable.
        Self(handle(|out, error| unsafe { taskhold_clock_open_manual(NOW_MS, out, error) }).expect("a clock"))
    }

    pub fn advance(&self, ms: i64) {
        // SAFETY: the output is writable.
        plain(|error| unsafe { taskhold_clock_advance(self.0, ms, error) }).expect("advanced");
    }
}

/// An empty store of the kind that the environment asks for.
pub struct Store(pub *mut taskhold_store, Place);

// SAFETY: a handle may be used on any thread.
unsafe impl Send for Store {}
// SAFETY: and on many at once.
unsafe impl Sync for Store {}

impl Drop for Store {
    fn drop(&mut self) {
        self.close();
    }
}

impl Store {
    pub fn open(clock: &Clock) -> Self {
        let place = Place::wanted();
        let (url, options) = place.address();
        let (url, options) = (c(&url), c(&options));
        // SAFETY: the strings live until the call returns and the outputs are writable.
        let opened = handle(|out, error| unsafe {
            taskhold_store_open(url.as_ptr(), options.as_ptr(), clock.0, out, error)
        });
        Self(opened.expect("a store"), place)
    }

    /// Closes the handle; doing it again is fine.
    pub fn close(&self) {
        // SAFETY: any handle may be given.
        assert_eq!(unsafe { taskhold_store_close(self.0) }, TASKHOLD_OK);
    }

    pub fn stats(&self) -> Value {
        // SAFETY: the outputs are writable.
        record(text(|out, error| unsafe { taskhold_store_stats(self.0, out, error) }))
    }
}

// SAFETY of all calls below: strings live until the call returns, handles may be anything, and the outputs
// are writable.
impl Manager {
    pub fn open(store: &Store, options: &str) -> Self {
        let options = c(options);
        // SAFETY: see above.
        let opened =
            handle(|out, error| unsafe { taskhold_manager_open(store.0, options.as_ptr(), out, error) });
        Self(opened.expect("a manager"))
    }

    pub fn create(&self, creation: &str) -> Answer {
        let creation = c(creation);
        // SAFETY: see above.
        text(|out, error| unsafe { taskhold_manager_create_task(self.0, creation.as_ptr(), out, error) })
    }

    pub fn find(&self, id: &str) -> Answer {
        let id = c(id);
        // SAFETY: see above.
        text(|out, error| unsafe { taskhold_manager_find_task(self.0, id.as_ptr(), out, error) })
    }

    pub fn claim(&self, claim: &str, timeout_ms: u32) -> Answer {
        let claim = c(claim);
        // SAFETY: see above.
        text(|out, error| unsafe {
            taskhold_manager_claim_task(self.0, claim.as_ptr(), timeout_ms, out, error)
        })
    }

    pub fn renew(&self, renewals: &str) -> Answer {
        let renewals = c(renewals);
        // SAFETY: see above.
        text(|out, error| unsafe { taskhold_manager_renew_leases(self.0, renewals.as_ptr(), out, error) })
    }

    pub fn release(&self, id: &str, options: Option<&str>) -> Answer {
        let (id, options) = (c(id), Optional::new(options));
        // SAFETY: see above.
        text(|out, error| unsafe {
            taskhold_manager_release_task(self.0, id.as_ptr(), options.as_ptr(), out, error)
        })
    }

    pub fn mark(&self, id: &str, message: Option<&str>, options: Option<&str>) -> Answer {
        let (id, message, options) = (c(id), Optional::new(message), Optional::new(options));
        let mark = taskhold_manager_mark_task_working;
        // SAFETY: see above.
        text(|out, error| unsafe {
            mark(self.0, id.as_ptr(), message.as_ptr(), options.as_ptr(), out, error)
        })
    }

    pub fn ask(&self, id: &str, requests: &str, message: Option<&str>) -> Answer {
        let (id, requests, message) = (c(id), c(requests), Optional::new(message));
        let ask = taskhold_manager_request_task_input;
        // SAFETY: see above.
        text(|out, error| unsafe {
            ask(self.0, id.as_ptr(), requests.as_ptr(), message.as_ptr(), ptr::null(), out, error)
        })
    }

    pub fn complete(&self, id: &str, result: &str, options: Option<&str>) -> Answer {
        let (id, result, options) = (c(id), c(result), Optional::new(options));
        let complete = taskhold_manager_complete_task;
        // SAFETY: see above.
        text(|out, error| unsafe {
            complete(self.0, id.as_ptr(), result.as_ptr(), ptr::null(), options.as_ptr(), out, error)
        })
    }

    pub fn fail(&self, id: &str, failure: &str) -> Answer {
        let (id, failure) = (c(id), c(failure));
        let fail = taskhold_manager_fail_task;
        // SAFETY: see above.
        text(|out, error| unsafe {
            fail(self.0, id.as_ptr(), failure.as_ptr(), ptr::null(), ptr::null(), out, error)
        })
    }

    pub fn cancel(&self, id: &str) -> Answer {
        let id = c(id);
        let cancel = taskhold_manager_cancel_task;
        // SAFETY: see above.
        text(|out, error| unsafe { cancel(self.0, id.as_ptr(), ptr::null(), ptr::null(), out, error) })
    }

    pub fn take(&self, id: &str) -> Answer {
        let id = c(id);
        let take = taskhold_manager_take_task_input_responses;
        // SAFETY: see above.
        text(|out, error| unsafe { take(self.0, id.as_ptr(), ptr::null(), out, error) })
    }

    pub fn is_cancelation_requested(&self, id: &str) -> Result<i32, Failure> {
        let id = c(id);
        let asked = taskhold_manager_is_task_cancelation_requested;
        // SAFETY: see above.
        number(|out, error| unsafe { asked(self.0, id.as_ptr(), out, error) })
    }

    pub fn wait(&self, id: &str, seen: u64, timeout_ms: u32) -> Answer {
        let id = c(id);
        // SAFETY: see above.
        text(|out, error| unsafe {
            taskhold_manager_wait_task(self.0, id.as_ptr(), seen, timeout_ms, out, error)
        })
    }

    pub fn list(&self, params: &str) -> Answer {
        let params = c(params);
        // SAFETY: see above.
        text(|out, error| unsafe { taskhold_manager_list_tasks(self.0, params.as_ptr(), out, error) })
    }

    pub fn find_authorized(&self, endpoint: &str, partition: Option<&str>, id: &str) -> Answer {
        let (endpoint, partition, id) = (c(endpoint), Optional::new(partition), c(id));
        let find = taskhold_manager_find_authorized_task;
        // SAFETY: see above.
        text(|out, error| unsafe {
            find(self.0, endpoint.as_ptr(), partition.as_ptr(), id.as_ptr(), out, error)
        })
    }

    pub fn update(&self, endpoint: &str, partition: Option<&str>, id: &str, responses: &str) -> Answer {
        let (endpoint, partition, id, responses) =
            (c(endpoint), Optional::new(partition), c(id), c(responses));
        let update = taskhold_manager_update_task;
        // SAFETY: see above.
        text(|out, error| unsafe {
            update(
                self.0,
                endpoint.as_ptr(),
                partition.as_ptr(),
                id.as_ptr(),
                responses.as_ptr(),
                ptr::null(),
                out,
                error,
            )
        })
    }

    pub fn request_cancelation(
        &self,
        endpoint: &str,
        partition: Option<&str>,
        id: &str,
    ) -> Result<(), Failure> {
        let (endpoint, partition, id) = (c(endpoint), Optional::new(partition), c(id));
        let request = taskhold_manager_request_task_cancelation;
        // SAFETY: see above.
        plain(|error| unsafe { request(self.0, endpoint.as_ptr(), partition.as_ptr(), id.as_ptr(), error) })
    }

    pub fn render(&self, endpoint: &str, partition: Option<&str>, id: &str, rendering: i32) -> Answer {
        let (endpoint, partition, id) = (c(endpoint), Optional::new(partition), c(id));
        let render = taskhold_manager_render_task;
        // SAFETY: see above.
        text(|out, error| unsafe {
            render(
                self.0,
                endpoint.as_ptr(),
                partition.as_ptr(),
                id.as_ptr(),
                rendering,
                ptr::null(),
                out,
                ptr::null_mut(),
                error,
            )
        })
    }

    pub fn handle_request(
        &self,
        endpoint: &str,
        partition: Option<&str>,
        capabilities: Option<&str>,
        request: &str,
    ) -> Answer {
        let (endpoint, partition) = (c(endpoint), Optional::new(partition));
        let (capabilities, request) = (Optional::new(capabilities), c(request));
        let answer = taskhold_manager_handle_request;
        // SAFETY: see above.
        text(|out, error| unsafe {
            answer(
                self.0,
                endpoint.as_ptr(),
                partition.as_ptr(),
                capabilities.as_ptr(),
                request.as_ptr(),
                out,
                error,
            )
        })
    }

    pub fn events(&self, capacity: u32) -> Events {
        // SAFETY: see above.
        let opened =
            handle(|out, error| unsafe { taskhold_manager_open_events(self.0, capacity, out, error) });
        Events(opened.expect("a queue"))
    }
}

impl Events {
    pub fn next(&self, timeout_ms: u32) -> Answer {
        // SAFETY: see above.
        text(|out, error| unsafe { taskhold_events_next(self.0, timeout_ms, out, error) })
    }

    /// Everything that waits in the queue.
    pub fn drain(&self) -> Vec<Value> {
        let mut events = Vec::new();
        while let Ok(Some(event)) = self.next(0) {
            events.push(serde_json::from_str(&event).expect("JSON"));
        }
        events
    }
}
