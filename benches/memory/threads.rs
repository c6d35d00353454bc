//! M5 and M9: what a second thread brings, and what a call costs that does nothing.

use std::ptr::null_mut;
use std::sync::{Barrier, Mutex};
use std::time::Instant;

use super::ROUNDS;
use super::support::{
    self, Api, Handle, Numbers, Shared, Table, UNLIMITED, interleaved, median, running_per_call,
};
use super::tasks::{close, completed_tasks, creation, find, mark_working};

pub fn different_keys(api: &Api, table: &Table) {
    for (count, writes, least) in
        [(1_000, false, 1.5), (100_000, false, 1.8), (1_000, true, 1.3), (100_000, true, 1.8)]
    {
        let (manager, ids) = completed_tasks(api, count, 500);
        let working: Vec<_> = (0..count).map(|_| api.create_task(manager, &creation("{}"))).collect();
        let manager = Shared(manager);
        let run = |threads: usize| {
            let barrier = Barrier::new(threads);
            let start = Mutex::new(None::<Instant>);
            let calls = 200_000;
            std::thread::scope(|scope| {
                for t in 0..threads {
                    let (barrier, start, ids, working) = (&barrier, &start, &ids, &working);
                    scope.spawn(move || {
                        support::pin(t);
                        let manager = manager;
                        let mut numbers = Numbers(37 + t as u64);
                        // Different keys: each thread has its half.
                        let half = ids.len() / 2;
                        let order: Vec<usize> = (0..8_192).map(|_| numbers.below(half) + t * half).collect();
                        barrier.wait();
                        start.lock().unwrap().get_or_insert_with(Instant::now);
                        for n in 0..calls {
                            let at = order[n % order.len()];
                            if writes && n % 10 == 0 {
                                mark_working(api, manager.0, &working[at]);
                            } else {
                                find(api, manager.0, &ids[at]);
                            }
                        }
                    });
                }
            });
            let took = start.lock().unwrap().unwrap().elapsed();
            took.as_nanos() as f64 / (calls * threads) as f64
        };
        let (two, one) = interleaved(5, || run(2), || run(1));
        let what = if writes { "90 % find, 10 % status change" } else { "find" };
        table.at_least("M5", &format!("two threads, {what}, {count} retained"), one / two, least);
        close(api, manager.0);
    }
}

pub fn idle_calls(api: &Api, table: &Table) {
    let manager = Shared(api.manager(UNLIMITED));
    let call = |manager: Handle| {
        // SAFETY: valid arguments as the header asks. Nobody listens: the call checks its handle and its id, and
        // clears the error.
        unsafe { (api.manager_publish_task_changed)(manager, c"t".as_ptr(), null_mut()) };
    };
    let one = median((0..ROUNDS).map(|_| running_per_call(1_000_000, |_| call(manager.0))).collect());
    table.most("M9", "a call that does nothing", one, 25.0);
    let two = median(
        (0..ROUNDS)
            .map(|_| {
                let barrier = Barrier::new(2);
                let took: Vec<f64> = std::thread::scope(|scope| {
                    let threads: Vec<_> = (0..2)
                        .map(|t| {
                            let barrier = &barrier;
                            scope.spawn(move || {
                                support::pin(t);
                                let manager = manager;
                                barrier.wait();
                                running_per_call(1_000_000, |_| call(manager.0))
                            })
                        })
                        .collect();
                    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
                });
                took.iter().sum::<f64>() / 2.0
            })
            .collect(),
    );
    table.at_least("M9", "two threads on one handle", 2.0 * one / two, 1.0);
    close(api, manager.0);
}
