//! The subscribers of one manager, in order of subscription. They are told on the thread that made the
//! change, with no lock held, and may call anything, the end of their own subscription included. A manager
//! without subscribers pays one load.

#![forbid(unsafe_code)]

use std::sync::Arc;

use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};

/// Is told the ids of tasks that changed.
pub trait Subscriber: Send + Sync {
    /// The task `task_id` changed through this manager. May call anything.
    fn task_changed(&self, task_id: &str);
}

/// One subscriber, until its subscription is closed.
struct Place(Mutex<Option<Arc<dyn Subscriber>>>);

/// The list that a manager and its subscriptions share.
#[derive(Default)]
pub(super) struct Subscribers {
    places: Mutex<Arc<[Arc<Place>]>>,
    any: AtomicBool,
}

impl Subscribers {
    /// Adds `subscriber` behind all others.
    pub(super) fn add(self: &Arc<Self>, subscriber: Arc<dyn Subscriber>) -> Subscription {
        let place = Arc::new(Place(Mutex::new(Some(subscriber))));
        self.replace(|places| places.iter().cloned().chain([Arc::clone(&place)]).collect());
        Subscription { subscribers: Arc::clone(self), place }
    }

    /// Tells everyone that `task_id` changed.
    pub(super) fn tell(&self, task_id: &str) {
        if !self.any.load(Ordering::Relaxed) {
            return;
        }
        let places = Arc::clone(&self.places.lock());
        for place in places.iter() {
            // The clone keeps the subscriber alive during its call; whoever ends last lets go of it.
            let subscriber = place.0.lock().clone();
            if let Some(subscriber) = subscriber {
                subscriber.task_changed(task_id);
            }
        }
    }

    fn replace(&self, next: impl FnOnce(&[Arc<Place>]) -> Arc<[Arc<Place>]>) {
        let mut places = self.places.lock();
        *places = next(&places);
        self.any.store(!places.is_empty(), Ordering::Relaxed);
    }
}

/// A subscriber's place in a manager's list. Dropping it ends the subscription.
pub struct Subscription {
    subscribers: Arc<Subscribers>,
    place: Arc<Place>,
}

impl Subscription {
    /// Ends the subscription: nothing that is announced after this reaches the subscriber. Lets go of it. A call for
    /// which another thread took its clone just before still comes and ends; it keeps the subscriber alive.
    pub fn close(&self) {
        let subscriber = self.place.0.lock().take();
        if subscriber.is_some() {
            self.subscribers.replace(|places| {
                places.iter().filter(|place| !Arc::ptr_eq(place, &self.place)).cloned().collect()
            });
        }
        // The subscriber's own drop runs here, with no lock held.
        drop(subscriber);
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Weak;

    #[derive(Default)]
    struct Log(Mutex<Vec<String>>);

    struct Named {
        name: &'static str,
        log: Arc<Log>,
        closes: Mutex<Option<Arc<Subscription>>>,
    }

    impl Subscriber for Named {
        fn task_changed(&self, task_id: &str) {
            self.log.0.lock().push(format!("{}:{task_id}", self.name));
            let closes = self.closes.lock().take();
            if let Some(subscription) = closes {
                subscription.close();
            }
        }
    }

    impl Drop for Named {
        fn drop(&mut self) {
            self.log.0.lock().push(format!("{} dropped", self.name));
        }
    }

    fn named(name: &'static str, log: &Arc<Log>) -> Arc<Named> {
        Arc::new(Named { name, log: Arc::clone(log), closes: Mutex::new(None) })
    }

    fn taken(log: &Log) -> Vec<String> {
        std::mem::take(&mut *log.0.lock())
    }

    #[test]
    fn are_told_in_order_of_subscription() {
        let (subscribers, log) = (Arc::new(Subscribers::default()), Arc::new(Log::default()));
        subscribers.tell("nobody");
        let first = subscribers.add(named("a", &log));
        let second = subscribers.add(named("b", &log));
        subscribers.tell("1");
        assert_eq!(taken(&log), ["a:1", "b:1"]);
        first.close();
        assert_eq!(taken(&log), ["a dropped"]);
        first.close();
        subscribers.tell("2");
        assert_eq!(taken(&log), ["b:2"]);
        drop(second);
        assert_eq!(taken(&log), ["b dropped"]);
        subscribers.tell("3");
        assert!(taken(&log).is_empty());
        assert!(!subscribers.any.load(Ordering::Relaxed));
    }

    #[test]
    fn closing_inside_the_own_call_lets_go_when_the_call_ends() {
        let (subscribers, log) = (Arc::new(Subscribers::default()), Arc::new(Log::default()));
        let subscriber = named("a", &log);
        let weak: Weak<Named> = Arc::downgrade(&subscriber);
        let subscription = Arc::new(subscribers.add(subscriber));
        *weak.upgrade().unwrap().closes.lock() = Some(Arc::clone(&subscription));
        subscribers.tell("1");
        assert_eq!(taken(&log), ["a:1", "a dropped"]);
        assert!(weak.upgrade().is_none());
        subscribers.tell("2");
        assert!(taken(&log).is_empty());
    }

    #[test]
    fn one_that_was_closed_by_an_earlier_one_is_not_called() {
        let (subscribers, log) = (Arc::new(Subscribers::default()), Arc::new(Log::default()));
        let first = named("a", &log);
        let _first = subscribers.add(Arc::clone(&first) as Arc<dyn Subscriber>);
        let second = Arc::new(subscribers.add(named("b", &log)));
        *first.closes.lock() = Some(second);
        subscribers.tell("1");
        assert_eq!(taken(&log), ["a:1", "b dropped"]);
    }
}
