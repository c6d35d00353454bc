//! A forked child has the parent's sockets to the server, too. It closes its copies without a word, so that the parent's
//! connections go on and end with the parent; what it opens itself is its own.

#![cfg(all(feature = "postgres", target_os = "linux"))]

mod stores;

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, c_char};
use std::path::PathBuf;
use std::ptr::null_mut;

use stores::postgres::{Schema, url};
use taskhold::ffi::{
    taskhold_manager, taskhold_manager_create_task, taskhold_manager_find_task, taskhold_manager_open,
    taskhold_store, taskhold_store_open, taskhold_store_stats, taskhold_string_free,
};

struct Opened {
    store: *mut taskhold_store,
    manager: *mut taskhold_manager,
}

impl Opened {
    fn new(url: &CStr, options: &CStr) -> Self {
        let (mut store, mut manager) = (null_mut(), null_mut());
        // SAFETY: valid arguments as the header asks, as in every call below.
        unsafe {
            let status =
                taskhold_store_open(url.as_ptr(), options.as_ptr(), null_mut(), &raw mut store, null_mut());
            assert_eq!(status, 0);
            assert_eq!(taskhold_manager_open(store, std::ptr::null(), &raw mut manager, null_mut()), 0);
        }
        Self { store, manager }
    }

    fn create(&self) -> i32 {
        let creation = c"{\"endpoint\": \"/mcp\", \"origin\": 1}";
        // SAFETY: see above.
        unsafe { taskhold_manager_create_task(self.manager, creation.as_ptr(), null_mut(), null_mut()) }
    }

    fn find(&self) -> i32 {
        let mut record: *mut c_char = null_mut();
        // SAFETY: see above.
        unsafe {
            let status = taskhold_manager_find_task(self.manager, c"x".as_ptr(), &raw mut record, null_mut());
            taskhold_string_free(record);
            status
        }
    }

    /// How many connections this store has opened.
    fn connections_opened(&self) -> String {
        let mut stats = null_mut();
        // SAFETY: see above.
        unsafe {
            assert_eq!(taskhold_store_stats(self.store, &raw mut stats, null_mut()), 0);
            let text = CStr::from_ptr(stats).to_str().unwrap().to_owned();
            taskhold_string_free(stats);
            text.split("\"connectionsOpened\":").nth(1).unwrap().split(',').next().unwrap().to_owned()
        }
    }
}

/// The sockets of this process.
fn sockets() -> BTreeSet<PathBuf> {
    let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    open.flat_map(|entry| std::fs::read_link(entry.path()))
        .filter(|target| target.to_string_lossy().starts_with("socket:"))
        .collect()
}

#[test]
fn a_child_closes_its_copies_of_the_sockets_and_the_parent_goes_on() {
    let schema = Schema::new();
    let (url, options) = (CString::new(url()).unwrap(), CString::new(schema.options()).unwrap());
    let before = sockets();
    let parent = Opened::new(&url, &options);
    assert_eq!(parent.create(), 0);
    let ours: BTreeSet<PathBuf> = sockets().difference(&before).cloned().collect();
    assert!(!ours.is_empty(), "a store has connections");
    let opened = parent.connections_opened();

    // SAFETY: the child calls nothing that another thread of the parent may hold, and ends without winding up.
    match unsafe { libc::fork() } {
        0 => {
            let closed = sockets().is_disjoint(&ours);
            let refused = parent.find() == 2;
            let own = Opened::new(&url, &options);
            let works = own.create() == 0 && own.find() == 0;
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(!closed) | i32::from(!refused) << 1 | i32::from(!works) << 2) }
        }
        child => {
            assert!(child > 0);
            let mut status = 0;
            // SAFETY: the child is this process's own.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            assert!(libc::WIFEXITED(status));
            let failed = libc::WEXITSTATUS(status);
            assert_eq!(failed, 0, "bits: a socket stays open, the handle is not refused, an own one fails");
        }
    }
    assert_eq!(parent.create(), 0);
    assert_eq!(parent.connections_opened(), opened, "the child said something to the server");
}
