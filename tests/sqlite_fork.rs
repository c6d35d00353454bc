//! A forked child opens the file that its parent has open. It must get locks of its own: otherwise the parent,
//! when it closes the file as the last one that has locks, would take the log away under the child.

#![cfg(target_os = "linux")]

mod stores;

use std::ffi::{CStr, CString, c_char};
use std::io::{Read as _, Write as _};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, Ordering};

use stores::Folder;
use taskhold::ffi::{
    taskhold_manager, taskhold_manager_close, taskhold_manager_create_task, taskhold_manager_find_task,
    taskhold_manager_open, taskhold_store, taskhold_store_close, taskhold_store_open, taskhold_store_stats,
    taskhold_string_free,
};

struct Opened {
    store: *mut taskhold_store,
    manager: *mut taskhold_manager,
}

impl Opened {
    fn new(url: &CStr) -> Self {
        let (mut store, mut manager) = (null_mut(), null_mut());
        // SAFETY: valid arguments as the header asks, as in every call below.
        unsafe {
            assert_eq!(taskhold_store_open(url.as_ptr(), null(), null_mut(), &raw mut store, null_mut()), 0);
            assert_eq!(taskhold_manager_open(store, null(), &raw mut manager, null_mut()), 0);
        }
        Self { store, manager }
    }

    fn create(&self) -> String {
        let creation = c"{\"endpoint\": \"/mcp\", \"origin\": 1}";
        let mut record: *mut c_char = null_mut();
        // SAFETY: see above.
        unsafe {
            let status =
                taskhold_manager_create_task(self.manager, creation.as_ptr(), &raw mut record, null_mut());
            assert_eq!(status, 0);
            let text = CStr::from_ptr(record).to_str().unwrap().to_owned();
            taskhold_string_free(record);
            text.split("\"taskId\":\"").nth(1).unwrap()[..36].to_owned()
        }
    }

    fn has(&self, id: &str) -> bool {
        let (id, mut record) = (CString::new(id).unwrap(), null_mut());
        // SAFETY: see above.
        unsafe {
            let status = taskhold_manager_find_task(self.manager, id.as_ptr(), &raw mut record, null_mut());
            assert_eq!(status, 0);
            let found = !record.is_null();
            taskhold_string_free(record);
            found
        }
    }

    /// How many tasks are working.
    fn count(&self) -> usize {
        let mut stats = null_mut();
        // SAFETY: see above.
        unsafe {
            assert_eq!(taskhold_store_stats(self.store, &raw mut stats, null_mut()), 0);
            let text = CStr::from_ptr(stats).to_str().unwrap().to_owned();
            taskhold_string_free(stats);
            let count = text.split("\"working\":").nth(1).unwrap().split(',').next().unwrap();
            count.parse().unwrap()
        }
    }

    fn close(self) {
        // SAFETY: see above.
        unsafe {
            assert_eq!(taskhold_manager_close(self.manager), 0);
            assert_eq!(taskhold_store_close(self.store), 0);
        }
    }
}

#[test]
fn a_child_has_locks_of_its_own() {
    let folder = Folder::new();
    let url = CString::new(folder.url("agents.db")).unwrap();
    let parent = Opened::new(&url);
    parent.create();
    let (mut from_child, mut to_parent) = std::io::pipe().unwrap();
    let (mut from_parent, mut to_child) = std::io::pipe().unwrap();
    // SAFETY: this process has no other thread inside the library; the child ends without returning.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // Either side hears the other's end as the end of its pipe.
        drop((from_child, to_child));
        let life = std::panic::catch_unwind(move || {
            let opened = Opened::new(&url);
            let first = opened.create();
            to_parent.write_all(first.as_bytes()).unwrap();
            // Until the parent has closed its store.
            from_parent.read_exact(&mut [0]).unwrap();
            let second = opened.create();
            to_parent.write_all(second.as_bytes()).unwrap();
        });
        // SAFETY: ends the child as a kill would, with the store open.
        unsafe { libc::_exit(i32::from(life.is_err())) };
    }
    drop((to_parent, from_parent));
    let mut ids = [[0; 36]; 2];
    from_child.read_exact(&mut ids[0]).unwrap();
    parent.close();
    folder.wait_until_closed_here("agents.db");
    assert!(folder.path.join("agents.db-wal").exists(), "the parent took the log away under the child");
    to_child.write_all(&[1]).unwrap();
    from_child.read_exact(&mut ids[1]).unwrap();
    let mut status = 0;
    // SAFETY: waits for the child started above.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    let again = Opened::new(&url);
    for id in ids {
        assert!(again.has(std::str::from_utf8(&id).unwrap()), "an acknowledged task is gone");
    }
    again.close();
}

/// Threads of the parent are inside SQLite when it forks, with whatever it locks inside.
#[test]
fn a_child_opens_the_file_whatever_the_parents_threads_do() {
    const CHILDREN: usize = 60;
    let folder = Folder::new();
    let url = CString::new(folder.url("agents.db")).unwrap();
    let parent = Opened::new(&url);
    let is_over = AtomicBool::new(false);
    let created = std::thread::scope(|scope| {
        let (url, is_over) = (&url, &is_over);
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(move || {
                    let mut created = 0;
                    while !is_over.load(Ordering::Relaxed) {
                        let opened = Opened::new(url);
                        opened.create();
                        created += 1;
                        opened.close();
                    }
                    created
                })
            })
            .collect();
        for _ in 0..CHILDREN {
            // SAFETY: the child only uses what a fork leaves usable, the allocator and the library, and ends
            // without returning. A child that waits for a lock of the parent is ended by the alarm.
            let child = unsafe { libc::fork() };
            if child == 0 {
                // SAFETY: no handler is installed for it.
                unsafe { libc::alarm(60) };
                let life = std::panic::catch_unwind(|| {
                    let opened = Opened::new(url);
                    assert!(opened.has(&opened.create()));
                    opened.close();
                });
                // SAFETY: runs nothing of the parent's.
                unsafe { libc::_exit(i32::from(life.is_err())) };
            }
            let mut status = 0;
            // SAFETY: waits for the child started above.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            assert_eq!(status, 0);
        }
        is_over.store(true, Ordering::Relaxed);
        threads.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>()
    });
    assert_eq!(parent.count(), CHILDREN + created);
    parent.close();
}

/// SQLite nests its mutexes when it seeds its random numbers, and a fork holds them all: in the same order, or the two
/// wait for each other.
#[test]
fn a_fork_beside_a_first_seeding_ends() {
    const FORKS: usize = 500;
    let folder = Folder::new();
    let url = CString::new(folder.url("agents.db")).unwrap();
    let parent = Opened::new(&url);
    // In a process of its own, which the alarm ends if it hangs.
    // SAFETY: the child uses what a fork leaves usable and ends without returning.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: no handler is installed for it.
        unsafe { libc::alarm(60) };
        let (has_begun, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let mut number = [0_u8; 8];
                    // SAFETY: nothing asked for resets the seed; then the buffer has room for what is asked for.
                    unsafe {
                        rusqlite::ffi::sqlite3_randomness(0, null_mut());
                        rusqlite::ffi::sqlite3_randomness(8, number.as_mut_ptr().cast());
                    }
                    has_begun.store(true, Ordering::Relaxed);
                }
            });
            while !has_begun.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            for _ in 0..FORKS {
                // SAFETY: the child ends at once.
                let grandchild = unsafe { libc::fork() };
                if grandchild == 0 {
                    // SAFETY: runs nothing of the parent's.
                    unsafe { libc::_exit(0) };
                }
                // SAFETY: waits for the child started above.
                unsafe { libc::waitpid(grandchild, null_mut(), 0) };
            }
            is_over.store(true, Ordering::Relaxed);
        });
        // SAFETY: as above.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: waits for the child started above.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "a fork and a seeding waited for each other");
    parent.close();
}
