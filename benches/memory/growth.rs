//! M7 and M8: that nothing grows with what is retained but the memory for it.

use super::ROUNDS;
use super::support::{self, Api, Numbers, Table, median, payload, running_ns, running_per_call};
use super::tasks::{close, completed_tasks, creation, find};

pub fn hot_keys(api: &Api, table: &Table, large: usize) {
    let hot = 1_000;
    let mut figures = Vec::new();
    for count in [hot, 100_000, large] {
        let (manager, ids) = completed_tasks(api, hot, 500);
        let small = creation("{}");
        let mut worst = 0.0;
        for _ in hot..count {
            worst = longest(worst, || drop(api.create_task(manager, &small)));
        }
        if count == large {
            table.most("M7", &format!("worst creation of the first {count}"), worst, 100_000.0);
        }
        let mut numbers = Numbers(41);
        let order: Vec<usize> = (0..16_384).map(|_| numbers.below(hot)).collect();
        let figure = median(
            (0..ROUNDS)
                .map(|_| running_per_call(order.len(), |n| find(api, manager, &ids[order[n]])))
                .collect(),
        );
        figures.push(figure);
        if count == large {
            // The machine takes its time now and then: the second worst of three runs' worsts says more.
            let mut worsts: Vec<f64> = (0..3)
                .map(|_| {
                    let mut worst = 0.0;
                    for n in 0..20_000 {
                        worst = longest(worst, || {
                            if n % 4 == 0 {
                                api.create_task(manager, &small);
                            } else {
                                find(api, manager, &ids[order[n % order.len()]]);
                            }
                        });
                    }
                    worst
                })
                .collect();
            worsts.sort_by(f64::total_cmp);
            table.most("M7", &format!("worst single call, {count} retained"), worsts[1], 100_000.0);
        }
        close(api, manager);
    }
    for (count, figure) in [(100_000, figures[1]), (large, figures[2])] {
        let what = format!("find of {hot} hot keys, {count} against {hot} retained");
        table.ratio("M7", &what, (figure, figures[0]), 1.5);
    }
}

/// The longer of `worst` and the time that `call` runs.
fn longest(worst: f64, call: impl FnOnce()) -> f64 {
    let start = running_ns();
    call();
    worst.max(running_ns() - start)
}

pub fn memory(api: &Api, table: &Table) {
    let count = 100_000;
    let result = payload(500);
    let before = support::allocated();
    let (manager, ids) = completed_tasks(api, count, 500);
    // The bench's own list of ids is no part of it.
    let with_tasks = support::allocated();
    drop(ids);
    let ids_bytes = with_tasks - support::allocated();
    let each = (with_tasks - before - ids_bytes) / count as f64;
    let documents = (result.len() + 2) as f64;
    table.row(
        "M8",
        "memory per retained task, 500 B result",
        &format!("{each:.0} B"),
        &format!("{documents:.0} B"),
        &format!("+{:.0} B", each - documents),
        "<= documents + 400 B",
        each - documents <= 400.0,
    );
    close(api, manager);
}
