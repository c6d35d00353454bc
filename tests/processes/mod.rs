//! The parts of the test of many processes.

pub mod audit;
pub mod queue_audit;
pub mod queue_worker;
pub mod worker;

/// Tasks that every process tries to end, and takes responses from.
pub const CONTESTED: usize = 24;
/// Sessions and A2A tasks that every process changes.
pub const SHARED: usize = 6;
/// The limit of the manager that is too small for all.
pub const LIMIT: usize = 30;
/// The queues of the workers, in their order of preference.
pub const QUEUES: [&str; 2] = ["urgent", "reports"];
/// Of one claim or renewal: shorter than a process may stand still.
pub const LEASE_MS: u64 = 60;
/// Operations that every process may begin.
pub const OPERATIONS: u64 = 24;
/// Short waits of a reader for others are normal; none is refused.
pub const OPTIONS: &str = r#"{"durability": "normal", "busyTimeoutMs": 20000}"#;

/// A small generator of numbers.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % end
    }
}
