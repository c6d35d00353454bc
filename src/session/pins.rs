//! The pins that one handle holds. Each pin is kept under its session's id with the instance that it was
//! taken on, so that letting go of it never touches a later session with the same id, nor the pins of others.

#![forbid(unsafe_code)]

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::store::{ExpiryListener, HeldPins, SessionRow, is_too_roomy};
use crate::sync::{Mutex, MutexGuard};

/// Pins by session id.
#[derive(Debug, Default)]
pub(super) struct Pins {
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    /// The instances that were pinned, one entry a pin, oldest first.
    by_id: HashMap<Arc<str>, VecDeque<i64>>,
    ended: bool,
}

impl Held {
    /// A map that once was large gives its room back.
    fn remove(&mut self, id: &str) {
        self.by_id.remove(id);
        if is_too_roomy(self.by_id.len(), self.by_id.capacity()) {
            self.by_id.shrink_to(self.by_id.len() * 2);
        }
    }
}

impl Pins {
    /// Keeps a pin that was taken. False when the handle has ended meanwhile: then the pin must be let go.
    pub(super) fn add(&self, id: &str, instance: i64) -> bool {
        let mut held = self.lock();
        if held.ended {
            return false;
        }
        match held.by_id.get_mut(id) {
            Some(instances) => instances.push_back(instance),
            None => {
                held.by_id.insert(id.into(), VecDeque::from([instance]));
            }
        }
        true
    }

    /// Takes out the oldest pin on `id`, if one is held, for its holder to let go of it.
    pub(super) fn take<'a>(&'a self, id: &'a str) -> Option<Taken<'a>> {
        let mut held = self.lock();
        let instances = held.by_id.get_mut(id)?;
        let instance = instances.pop_front();
        if instances.is_empty() {
            held.remove(id);
        }
        Some(Taken { pins: self, id, instance: instance?, released: false })
    }

    /// Forgets every pin on a session that is gone.
    pub(super) fn forget(&self, id: &str, instance: i64) {
        let mut held = self.lock();
        if let Some(instances) = held.by_id.get_mut(id) {
            instances.retain(|&other| other != instance);
            if instances.is_empty() {
                held.remove(id);
            }
        }
    }

    /// Takes out all pins, once. From now on no pin is added.
    pub(super) fn end(&self) -> Option<Vec<HeldPins>> {
        let by_id = {
            let mut held = self.lock();
            if std::mem::replace(&mut held.ended, true) {
                return None;
            }
            std::mem::take(&mut held.by_id)
        };
        let mut pins = Vec::with_capacity(by_id.len());
        for (id, mut instances) in by_id {
            instances.make_contiguous().sort_unstable();
            for same in instances.as_slices().0.chunk_by(PartialEq::eq) {
                pins.push((Arc::clone(&id), same[0], u32::try_from(same.len()).unwrap_or(u32::MAX)));
            }
        }
        Some(pins)
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock()
    }
}

/// A pin that is about to be let go. Unless that is done it is held again: the host can try once more, or the
/// end of the handle does.
#[derive(Debug)]
pub(super) struct Taken<'a> {
    pins: &'a Pins,
    id: &'a str,
    instance: i64,
    released: bool,
}

impl Taken<'_> {
    pub(super) fn instance(&self) -> i64 {
        self.instance
    }

    /// The store knows that the pin is let go.
    pub(super) fn released(mut self) {
        self.released = true;
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if !self.released {
            self.pins.add(self.id, self.instance);
        }
    }
}

/// An uninitialized session expires pinned or not; who pinned it may never come back to let go.
impl ExpiryListener<SessionRow> for Pins {
    fn expired(&self, row: &SessionRow) {
        if row.pins > 0 {
            self.forget(&row.id, row.instance);
        }
    }
}
