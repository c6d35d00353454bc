//! What the worker sleeps at: it wakes when somebody rings, when the server notifies, and when its time is over.

#![forbid(unsafe_code)]

use std::time::Duration;

use super::connection::Connection;
use crate::sync::{Condvar, Mutex};

/// Rung by whoever has something for the worker.
#[derive(Default)]
pub(super) struct Bell {
    rung: Mutex<bool>,
    heard: Condvar,
    #[cfg(target_os = "linux")]
    signal: std::sync::OnceLock<Option<std::os::fd::OwnedFd>>,
}

impl Bell {
    /// Wakes the worker, or keeps it from going to sleep.
    pub(super) fn ring(&self) {
        *self.rung.lock() = true;
        self.heard.notify_one();
        #[cfg(target_os = "linux")]
        if let Some(signal) = self.signal() {
            let _ = rustix::io::write(signal, &1u64.to_ne_bytes());
        }
    }

    /// Sleeps until it is rung, until `connection` has something to read, or for `limit`.
    #[cfg(target_os = "linux")]
    pub(super) fn sleep(&self, connection: Option<&Connection>, limit: Duration) {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};

        let (Some(connection), Some(signal)) = (connection, self.signal()) else {
            return self.sleep_here(limit);
        };
        let mut sources =
            [PollFd::new(signal, PollFlags::IN), PollFd::new(connection.stream(), PollFlags::IN)];
        let limit = Timespec::try_from(limit.min(Duration::from_hours(1))).ok();
        // Whatever it gives, the worker looks at everything.
        let _ = poll(&mut sources, limit.as_ref());
        let _ = rustix::io::read(signal, &mut [0u8; 8]);
        *self.rung.lock() = false;
    }

    /// The same where a socket and a bell cannot be waited for at once.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn sleep(&self, connection: Option<&Connection>, limit: Duration) {
        let longest = Duration::from_millis(10);
        self.sleep_here(if connection.is_some() { limit.min(longest) } else { limit });
    }

    fn sleep_here(&self, limit: Duration) {
        let mut rung = self.heard.wait_timeout_while(self.rung.lock(), limit, |rung| !*rung);
        *rung = false;
    }

    #[cfg(target_os = "linux")]
    fn signal(&self) -> Option<&std::os::fd::OwnedFd> {
        use rustix::event::{EventfdFlags, eventfd};
        let make = || eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).ok();
        self.signal.get_or_init(make).as_ref()
    }
}
