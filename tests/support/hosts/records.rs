//! Session stores and state providers.
//!
//! SAFETY of all calls: strings live until the call returns, handles may be anything, and the outputs are
//! writable.

use std::ptr;

use taskhold::ffi::*;

use super::{Answer, Events, Optional, Provider, Sessions, Store};
use crate::support::calls::{Failure, c, handle, number, plain, text};

impl Sessions {
    pub fn open(store: &Store, options: &str) -> Self {
        let options = c(options);
        // SAFETY: see above.
        let opened = handle(|out, error| unsafe {
            taskhold_session_store_open(store.0, options.as_ptr(), out, error)
        });
        Self(opened.expect("a session store"))
    }

    pub fn create(&self, endpoint: &str, creation: Option<&str>) -> Answer {
        let (endpoint, creation) = (c(endpoint), Optional::new(creation));
        let create = taskhold_session_store_create;
        // SAFETY: see above.
        text(|out, error| unsafe { create(self.0, endpoint.as_ptr(), creation.as_ptr(), out, error) })
    }

    /// Creates a session under an id of the host's.
    pub fn create_as(&self, id: &str) -> Answer {
        self.create("/mcp", Some(&format!(r#"{{"sessionId":"{id}"}}"#)))
    }

    pub fn find(&self, id: &str) -> Answer {
        let id = c(id);
        // SAFETY: see above.
        text(|out, error| unsafe {
            taskhold_session_store_find_by_session_id(self.0, id.as_ptr(), out, error)
        })
    }

    pub fn find_authorized(&self, endpoint: &str, partition: Option<&str>, id: &str) -> Answer {
        let (endpoint, partition, id) = (c(endpoint), Optional::new(partition), c(id));
        let find = taskhold_session_store_find_authorized_session;
        // SAFETY: see above.
        text(|out, error| unsafe {
            find(self.0, endpoint.as_ptr(), partition.as_ptr(), id.as_ptr(), out, error)
        })
    }

    pub fn replace(&self, expected: &str, updated: &str) -> Result<i32, Failure> {
        let (expected, updated) = (c(expected), c(updated));
        let replace = taskhold_session_store_replace;
        // SAFETY: see above.
        number(|out, error| unsafe { replace(self.0, expected.as_ptr(), updated.as_ptr(), out, error) })
    }

    pub fn delete(&self, id: &str) -> Result<(), Failure> {
        let id = c(id);
        // SAFETY: see above.
        plain(|error| unsafe { taskhold_session_store_delete_by_session_id(self.0, id.as_ptr(), error) })
    }

    pub fn pin(&self, id: &str) -> Result<i32, Failure> {
        let id = c(id);
        // SAFETY: see above.
        number(|out, error| unsafe { taskhold_session_store_pin(self.0, id.as_ptr(), out, error) })
    }

    pub fn unpin(&self, id: &str) -> Result<(), Failure> {
        let id = c(id);
        // SAFETY: see above.
        plain(|error| unsafe { taskhold_session_store_unpin(self.0, id.as_ptr(), error) })
    }

    pub fn list(&self, params: &str) -> Answer {
        let (params, list) = (c(params), taskhold_session_store_list_sessions);
        // SAFETY: see above.
        text(|out, error| unsafe { list(self.0, params.as_ptr(), out, error) })
    }

    pub fn take_expired(&self) -> Answer {
        // SAFETY: see above.
        text(|out, error| unsafe { taskhold_session_store_take_expired(self.0, out, error) })
    }
}

impl Provider {
    pub fn open(store: &Store, options: &str) -> Self {
        let options = c(options);
        // SAFETY: see above.
        let opened = handle(|out, error| unsafe {
            taskhold_state_provider_open(store.0, options.as_ptr(), out, error)
        });
        Self(opened.expect("a provider"))
    }

    pub fn save(&self, owner: Option<&str>, task: &str, options: Option<&str>) -> Result<u64, Failure> {
        let (owner, task, options) = (Optional::new(owner), c(task), Optional::new(options));
        let save = taskhold_state_provider_save_task;
        // SAFETY: see above.
        number(|out, error| unsafe {
            save(self.0, owner.as_ptr(), task.as_ptr(), options.as_ptr(), out, error)
        })
    }

    pub fn get(&self, owner: Option<&str>, id: &str) -> Answer {
        let (owner, id) = (Optional::new(owner), c(id));
        let get = taskhold_state_provider_get_task;
        // SAFETY: see above.
        text(|out, error| unsafe {
            get(self.0, owner.as_ptr(), id.as_ptr(), ptr::null(), out, ptr::null_mut(), error)
        })
    }

    pub fn delete(&self, owner: Option<&str>, id: &str) -> Result<(), Failure> {
        let (owner, id) = (Optional::new(owner), c(id));
        // SAFETY: see above.
        plain(|error| unsafe {
            taskhold_state_provider_delete_task(self.0, owner.as_ptr(), id.as_ptr(), error)
        })
    }

    pub fn list(&self, owner: Option<&str>, params: &str) -> Answer {
        let (owner, params) = (Optional::new(owner), c(params));
        let list = taskhold_state_provider_list_tasks;
        // SAFETY: see above.
        text(|out, error| unsafe { list(self.0, owner.as_ptr(), params.as_ptr(), out, error) })
    }

    pub fn liveness(&self, id: &str) -> Result<i32, Failure> {
        let id = c(id);
        // SAFETY: see above.
        number(|out, error| unsafe { taskhold_state_provider_task_liveness(self.0, id.as_ptr(), out, error) })
    }

    pub fn read_events(&self, id: &str, params: &str) -> Answer {
        let (id, params) = (c(id), c(params));
        let read = taskhold_state_provider_read_events;
        // SAFETY: see above.
        text(|out, error| unsafe { read(self.0, id.as_ptr(), params.as_ptr(), out, error) })
    }

    /// Sets a config of an anonymous owner's task.
    pub fn set_push_config(&self, task_id: &str, id: &str, config: &str) -> Result<(), Failure> {
        let (task_id, id, config) = (c(task_id), c(id), c(config));
        let set = taskhold_state_provider_set_push_config;
        // SAFETY: see above.
        plain(|error| unsafe {
            set(self.0, ptr::null(), task_id.as_ptr(), id.as_ptr(), config.as_ptr(), error)
        })
    }

    pub fn push_configs(&self, task_id: &str) -> Answer {
        let task_id = c(task_id);
        let list = taskhold_state_provider_list_push_configs;
        // SAFETY: see above.
        text(|out, error| unsafe { list(self.0, ptr::null(), task_id.as_ptr(), ptr::null(), out, error) })
    }

    pub fn events(&self, capacity: u32) -> Events {
        let open = taskhold_state_provider_open_events;
        // SAFETY: see above.
        Events(handle(|out, error| unsafe { open(self.0, capacity, out, error) }).expect("a queue"))
    }
}
