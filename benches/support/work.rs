//! Queued work, as the benches of every store have it.

use std::ffi::{CStr, CString, c_char};
use std::ptr::null_mut;

use super::{Api, Handle};

const CLAIM: &CStr = c"{\"worker\":\"bench\",\"queues\":[\"reports\"],\"leaseMs\":3600000}";

/// A task in hand: its id and the token of its lease.
pub struct Held {
    pub id: CString,
    pub token: String,
}

pub fn enqueue(api: &Api, manager: Handle, count: usize) -> Vec<CString> {
    let creation = c"{\"endpoint\":\"/mcp\",\"origin\":{},\"queue\":\"reports\"}";
    (0..count).map(|_| api.create_task(manager, creation)).collect()
}

/// Claims a task, without a wait. What comes may be NULL.
pub fn claim(api: &Api, manager: Handle, timeout_ms: u32) -> *mut c_char {
    let mut record = null_mut();
    // SAFETY: valid arguments as the header asks, as in every call below.
    let status =
        unsafe { (api.manager_claim_task)(manager, CLAIM.as_ptr(), timeout_ms, &mut record, null_mut()) };
    assert!(status == 0 || status == CLOSED);
    record
}

const CLOSED: i32 = 9;

pub fn held(record: &str) -> Held {
    let after = |name: &str| record.split(name).nth(1).unwrap();
    let id = after("\"taskId\":\"").split('"').next().unwrap();
    let token = after("\"token\":").split([',', '}']).next().unwrap();
    Held { id: CString::new(id).unwrap(), token: token.to_owned() }
}

/// Claims so many tasks, and gives what renews all of them in one call.
pub fn renewals_of(api: &Api, manager: Handle, leases: usize) -> CString {
    let tasks: Vec<_> = (0..leases)
        .map(|_| {
            let Held { id, token } = held(&api.take(claim(api, manager, 0)));
            format!("{{\"taskId\":\"{}\",\"lease\":{token}}}", id.to_str().unwrap())
        })
        .collect();
    CString::new(format!("{{\"leaseMs\":3600000,\"tasks\":[{}]}}", tasks.join(","))).unwrap()
}
