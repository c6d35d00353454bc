//! Forks: a handle of the parent is `forked` in the child, at once, whatever other threads of the parent were
//! doing; closing it there touches nothing; and the child opens its own.
#![cfg(unix)]

mod support;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use support::calls::{self, close_events, close_manager, create_task, find_task, id_of, mark_working};
use support::exports::{self, Argument, Role};
use support::fixture::{Fixture, Kind};
use support::running::{self, arguments, run};
use taskhold::ffi::*;

/// Runs `body` in a child of this process and fails if it fails there, or hangs.
fn in_child(body: impl FnOnce()) {
    let mut pipe = [0; 2];
    // SAFETY: the array has room for both descriptors.
    assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
    let [reader, writer] = pipe;
    // SAFETY: the child only uses what a fork leaves usable: its own stack, the allocator and the library.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "no fork");
    if child == 0 {
        be_the_child(writer, body);
    }
    // SAFETY: the descriptors are this function's, the buffer has room, and the child is not waited for twice.
    unsafe {
        libc::close(writer);
        let mut message = [0_u8; 512];
        let length = libc::read(reader, message.as_mut_ptr().cast(), message.len());
        libc::close(reader);
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
        let message = String::from_utf8_lossy(&message[..usize::try_from(length).unwrap_or(0)]);
        assert_eq!(status, 0, "in the child: {message}");
    }
}

fn be_the_child(writer: libc::c_int, body: impl FnOnce()) -> ! {
    // A child that waits for a lock of the parent would wait for ever: it is ended by a signal instead.
    // SAFETY: no handler is installed for it.
    unsafe { libc::alarm(60) };
    // The test harness's own hook may wait for a thread that is not here.
    std::panic::set_hook(Box::new(|_| {}));
    let failed = catch_unwind(AssertUnwindSafe(body)).err();
    let message = failed.as_deref().map_or("", message_of).as_bytes();
    // SAFETY: the message is readable; `_exit` runs nothing of the parent's.
    unsafe {
        libc::write(writer, message.as_ptr().cast(), message.len());
        libc::_exit(failed.is_some().into());
    }
}

fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a text")
}

/// Every export, with a parent's handle in the place of each handle, gives `forked`.
fn every_use_is_forked(parent: &Fixture) {
    for export in exports::all() {
        for (at, parameter) in export.parameters.iter().enumerate() {
            match parameter.role {
                Role::Handle { kind, .. } => {
                    let mut arguments = arguments(&export, parent);
                    arguments[at] = Argument::Word(parent.handle(kind));
                    assert_eq!(run(&export, &arguments).failure().reason(), "forked", "{}", export.name);
                }
                Role::Closed(kind) => {
                    for _ in 0..2 {
                        assert_eq!(running::close(kind, parent.handle(kind)), TASKHOLD_OK, "{}", export.name);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Every export does what it should with handles of this process.
fn every_export_works() {
    for export in exports::all() {
        let own = Fixture::new();
        run(&export, &arguments(&export, &own)).finish(export.answer);
        own.close();
    }
}

#[test]
fn in_a_child_the_parents_handles_are_forked_and_new_ones_work() {
    let _alone = support::alone();
    let parent = Fixture::new();
    let before = parent.snapshot();
    let live = calls::live_handles();
    in_child(|| {
        assert_eq!(calls::live_handles(), 0, "what is open belongs to the parent");
        every_use_is_forked(&parent);
        every_export_works();
        assert_eq!(calls::live_handles(), 0);
        every_use_is_forked(&parent);
    });
    assert_eq!(parent.snapshot(), before, "closing in the child does nothing to the parent");
    assert_eq!(calls::live_handles(), live);
    parent.close();
}

#[test]
fn a_grandchild_can_use_neither_its_parents_nor_its_grandparents_handles() {
    let _alone = support::alone();
    let grandparent = Fixture::new();
    in_child(|| {
        let parent = Fixture::new();
        in_child(|| {
            every_use_is_forked(&grandparent);
            every_use_is_forked(&parent);
            every_export_works();
        });
        let found = find_task(parent.manager, &parent.task_id).expect("this process's own");
        assert_eq!(id_of(&found), parent.task_id);
        parent.close();
    });
    grandparent.close();
}

#[test]
fn a_handle_that_was_closed_before_the_fork_is_closed_in_the_child() {
    let _alone = support::alone();
    let closed: Vec<_> = Kind::ALL.map(|kind| (kind, support::fixture::closed(kind))).into();
    in_child(|| {
        let own = Fixture::new();
        for (kind, handle) in closed {
            assert_eq!(running::close(kind, handle), TASKHOLD_OK);
            assert_ne!(own.handle(kind), handle);
        }
        own.close();
    });
}

#[test]
fn threads_of_the_child_see_the_fork_too() {
    let _alone = support::alone();
    let manager = calls::open_manager(std::ptr::null_mut(), "{}");
    let address = manager.addr();
    in_child(|| {
        let thread = std::thread::spawn(move || {
            let inherited = std::ptr::without_provenance_mut(address);
            let refused = find_task(inherited, "x").expect_err("a parent's handle");
            assert_eq!(refused.reason(), "forked");
            let own = calls::open_manager(std::ptr::null_mut(), "{}");
            create_task(own).expect("created");
            close_manager(own);
        });
        assert!(thread.join().is_ok());
    });
    close_manager(manager);
}

/// What the threads of the parent do while it forks: everything that takes a lock or changes a table.
fn hammer(shared: *mut taskhold_manager, round: usize) {
    let record = create_task(shared).expect("created");
    let task_id = id_of(&record);
    find_task(shared, &task_id).expect("found");
    let own = calls::open_manager(std::ptr::null_mut(), "{}");
    let queue = calls::open_events(own, 4);
    let record = create_task(own).expect("created");
    calls::next_event(queue, 0).expect("an event");
    mark_working(own, &id_of(&record), &format!("round {round}")).expect("marked");
    close_events(queue);
    close_manager(own);
    assert_eq!(find_task(own, &task_id).expect_err("closed").reason(), "closed");
}

#[test]
fn a_fork_in_the_middle_of_everything_leaves_the_child_a_working_library() {
    let _alone = support::alone();
    let shared = calls::open_manager(std::ptr::null_mut(), r#"{"maximumRetainedTasks":10000000}"#);
    let task_id = id_of(&create_task(shared).expect("created"));
    let (address, done, rounds) = (shared.addr(), AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    hammer(std::ptr::without_provenance_mut(address), rounds.load(Ordering::Relaxed));
                    rounds.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let forks = catch_unwind(AssertUnwindSafe(|| {
            for fork in 0..100 {
                // Each fork comes after some work was done since the one before.
                while rounds.load(Ordering::Relaxed) < fork {
                    std::thread::yield_now();
                }
                in_child(|| {
                    let refused = find_task(shared, &task_id).expect_err("a parent's handle");
                    assert_eq!(refused.reason(), "forked");
                    close_manager(shared);
                    hammer(calls::open_manager(std::ptr::null_mut(), "{}"), fork);
                    assert_eq!(calls::live_handles(), 1);
                });
            }
        }));
        done.store(true, Ordering::Relaxed);
        if let Err(failed) = forks {
            std::panic::resume_unwind(failed);
        }
    });
    let found = find_task(shared, &task_id).expect("the parent's handle still works in the parent");
    assert_eq!(id_of(&found), task_id);
    close_manager(shared);
}
