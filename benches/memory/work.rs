//! W1, W3 and W4 for queued work: claim and complete, renew, and claims that find nothing.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::ptr::{null, null_mut};
use std::sync::Barrier;
use std::time::Duration;

use super::ROUNDS;
use super::support::anchors::{raw_compare_and_set, validate, versioned};
use super::support::work::{claim, enqueue, held, renewals_of};
use super::support::{self, Api, Table, UNLIMITED, interleaved, median, payload, running_per_call};
use super::tasks::close;

/// W1: a batch is claimed, then completed, and as much is queued again.
pub fn claims(api: &Api, table: &Table) {
    const BATCH: usize = 500;
    let result = CString::new(payload(500)).unwrap();
    let mut figures = Vec::new();
    for count in [1_000, 100_000] {
        let manager = api.manager(UNLIMITED);
        let ids = enqueue(api, manager, count);
        let raw = versioned(&ids, &payload(500));
        let mut order: BTreeMap<(i64, u64), String> =
            ids.iter().enumerate().map(|(n, id)| ((0, n as u64), id.to_str().unwrap().to_owned())).collect();
        let mut next = count as u64;
        let (ours, theirs) = interleaved(
            ROUNDS,
            || {
                let mut records = vec![null_mut(); BATCH];
                let claims = running_per_call(BATCH, |n| records[n] = claim(api, manager, 0));
                let batch: Vec<_> = records.into_iter().map(|record| held(&api.take(record))).collect();
                let options: Vec<_> = batch
                    .iter()
                    .map(|held| CString::new(format!("{{\"lease\":{}}}", held.token)).unwrap())
                    .collect();
                let ends = running_per_call(BATCH, |n| {
                    let (id, result, options) = (batch[n].id.as_ptr(), result.as_ptr(), options[n].as_ptr());
                    // SAFETY: see above.
                    let status = unsafe {
                        (api.manager_complete_task)(
                            manager,
                            id,
                            result,
                            null(),
                            options,
                            null_mut(),
                            null_mut(),
                        )
                    };
                    assert_eq!(status, 0);
                });
                enqueue(api, manager, BATCH);
                claims + ends
            },
            || {
                let mut taken = Vec::with_capacity(BATCH);
                let figure = running_per_call(BATCH, |_| {
                    let (_, id) = order.pop_first().unwrap();
                    validate(result.as_bytes());
                    raw_compare_and_set(&raw, &id, result.to_str().unwrap());
                    taken.push(id);
                });
                for id in taken {
                    order.insert((0, next), id);
                    next += 1;
                }
                figure
            },
        );
        table.ratio("W1", &format!("claim and complete, {count} queued"), (ours, theirs), 2.0);
        figures.push(ours);
        close(api, manager);
    }
    table.ratio("W1", "the same at 100000 and at 1000 queued", (figures[1], figures[0]), 1.5);
}

/// W3: a thousand leases in one call.
pub fn renewals(api: &Api, table: &Table) {
    const LEASES: usize = 1_000;
    let manager = api.manager(UNLIMITED);
    enqueue(api, manager, LEASES);
    let renewals = renewals_of(api, manager, LEASES);
    let renew = |_| {
        let mut outcome = null_mut();
        // SAFETY: see above.
        unsafe {
            (api.manager_renew_leases)(manager, renewals.as_ptr(), &mut outcome, null_mut());
            (api.string_free)(outcome);
        }
    };
    let figures = (0..ROUNDS).map(|_| running_per_call(20, renew) / LEASES as f64);
    table.most("W3", "renew, 1000 leases in one call, each", median(figures.collect()), 400.0);
    close(api, manager);
}

/// W4: a claim that finds nothing, and a thousand that wait.
pub fn idle_claims(api: &Api, table: &Table) {
    const WAITING: usize = 1_000;
    let manager = api.manager(UNLIMITED);
    let look = |_| assert!(claim(api, manager, 0).is_null());
    let figure = median((0..ROUNDS).map(|_| running_per_call(10_000, look)).collect());
    table.most("W4", "a claim that finds nothing", figure, 1_000.0);

    let (barrier, shared) = (Barrier::new(WAITING + 1), support::Shared(manager));
    let spent = std::thread::scope(|scope| {
        for _ in 0..WAITING {
            let barrier = &barrier;
            let wait = move || {
                let manager = shared;
                barrier.wait();
                assert!(claim(api, manager.0, u32::MAX).is_null());
            };
            std::thread::Builder::new().stack_size(128 << 10).spawn_scoped(scope, wait).unwrap();
        }
        barrier.wait();
        // They have come to rest when nothing was spent for a while.
        let (mut before, pause) = (support::process_ns(), Duration::from_millis(200));
        loop {
            std::thread::sleep(pause);
            let now = support::process_ns();
            if now - before < 2e6 {
                break;
            }
            before = now;
        }
        let before = support::process_ns();
        std::thread::sleep(Duration::from_secs(2));
        let spent = support::process_ns() - before;
        close(api, manager);
        spent / 2.0
    });
    table.most("W4", "processor time of 1000 claims that wait, in a second", spent, 1e6);
}
