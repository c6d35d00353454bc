//! The sockets of this process to database servers. A forked child inherits them with everything else, and must close
//! its copies without a word to the server: a connection that a child keeps open outlives the parent that used it. The
//! hook that does this runs before the child may take a lock or memory, so that the list is a fixed array.

#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicI32, Ordering};

/// Connections beyond so many are not noted: a child keeps its copies of them open until it ends.
const MOST: usize = 1024;
const FREE: i32 = -1;

static OPEN: [AtomicI32; MOST] = [const { AtomicI32::new(FREE) }; MOST];

/// A socket that is open, for as long as this is there.
#[derive(Debug)]
pub(super) struct Noted(Option<usize>);

/// Notes a descriptor.
#[cfg(unix)]
pub(super) fn note(socket: &impl std::os::fd::AsRawFd) -> Noted {
    let descriptor = socket.as_raw_fd();
    let take = |place: &AtomicI32| {
        place.compare_exchange(FREE, descriptor, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    };
    Noted(OPEN.iter().position(take))
}

#[cfg(not(unix))]
pub(super) fn note<S>(_socket: &S) -> Noted {
    Noted(None)
}

impl Drop for Noted {
    fn drop(&mut self) {
        if let Some(place) = self.0 {
            OPEN[place].store(FREE, Ordering::SeqCst);
        }
    }
}

/// Forgets all descriptors, in a child that was just forked, and gives each to `close`.
pub(crate) fn forget_all(mut close: impl FnMut(i32)) {
    for place in &OPEN {
        let descriptor = place.swap(FREE, Ordering::SeqCst);
        if descriptor != FREE {
            close(descriptor);
        }
    }
}
