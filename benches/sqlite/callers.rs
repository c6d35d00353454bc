//! S5 and S6: callers that share commits, and processes over one file.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::support::{Api, Handle, Table, median};
use super::{DURABILITIES, ROUNDS, close, create, creation, manager, open};

/// Commits a second of `callers` threads that create tasks.
fn rate(api: &Api, manager: Handle, callers: usize, calls: usize) -> f64 {
    let (creation, manager) = (creation(), manager as usize);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..callers {
            scope.spawn(|| {
                for _ in 0..calls / callers {
                    create(api, manager as Handle, &creation);
                }
            });
        }
    });
    calls as f64 / start.elapsed().as_secs_f64()
}

/// S5: callers that share commits.
pub fn callers(api: &Api, table: &Table, folder: &Path) {
    let store = open(api, &folder.join("callers.db"), "full");
    let manager = manager(api, store);
    let (mut ones, mut eights) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ones.push(rate(api, manager, 1, 800));
        eights.push(rate(api, manager, 8, 3200));
    }
    table.at_least("S5", "8 callers to one, FULL", median(eights) / median(ones), 1.8);
    close(api, manager, store);
}

/// One of two processes: creates tasks, then says how long it took and how long the longest call was.
pub fn one_process(api: &Api, file: &Path, durability: &str, calls: usize) -> (f64, f64) {
    let store = open(api, file, durability);
    let (manager, creation) = (manager(api, store), creation());
    let mut longest: f64 = 0.0;
    let start = Instant::now();
    for _ in 0..calls {
        let call = Instant::now();
        create(api, manager, &creation);
        longest = longest.max(call.elapsed().as_secs_f64() * 1e9);
    }
    (start.elapsed().as_secs_f64(), longest)
}

/// S6: processes over one file.
pub fn processes(api: &Api, table: &Table, folder: &Path) {
    for ((name, durability), calls) in DURABILITIES.into_iter().zip([3000, 12_000]) {
        let (mut rates, mut waits) = ([Vec::new(), Vec::new()], Vec::new());
        for round in 0..5 {
            for count in [1, 2] {
                let file = folder.join(format!("processes-{name}-{round}-{count}.db"));
                // Made before, so that no process waits for its making.
                let store = open(api, &file, durability);
                // SAFETY: see above.
                unsafe { (api.store_close)(store) };
                let children: Vec<_> = (0..count)
                    .map(|_| {
                        Command::new(std::env::current_exe().unwrap())
                            .args(["one-process".as_ref(), file.as_os_str(), durability.as_ref()])
                            .arg((calls / count).to_string())
                            .stdout(Stdio::piped())
                            .spawn()
                            .unwrap()
                    })
                    .collect();
                let mut seconds: f64 = 0.0;
                for child in children {
                    let said = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
                    let mut figures = said.split_whitespace().map(|figure| figure.parse::<f64>().unwrap());
                    seconds = seconds.max(figures.next().unwrap());
                    let longest = figures.next().unwrap();
                    if count == 2 {
                        waits.push(longest);
                    }
                }
                rates[count - 1].push(calls as f64 / seconds);
            }
        }
        let [one, two] = rates.map(median);
        table.at_least("S6", &format!("2 processes to one, {name}"), two / one, 0.8);
        let longest = waits.into_iter().fold(0.0, f64::max);
        table.most("S6", &format!("longest call of 2 processes, {name}"), longest, 100e6);
    }
}
