//! The manager over tables that fail, that lose races, and that have an id already.

use std::sync::{Mutex, Weak};

use super::*;
use crate::claimers::Claimers;
use crate::clock::{Moment, Now};
use crate::error::{Error, Reason};
use crate::events::{Hub, Keeper as _};
use crate::store::{
    AsOf, Decide, DecideClaim, DecideEach, ExpiryListener, Limits, Operation, Table, TaskQuery, TaskStatus,
    WorkCounters,
};

/// How a [`Stub`] treats a transition.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mood {
    /// It fails before anything is decided.
    Fails,
    /// It loses the first race: the decision on an older row is thrown away.
    Loses,
    /// It has a row under every id at first.
    Taken,
    /// Before each transition somebody else withdraws the request `a`.
    Withdraws,
}

/// A table of one row.
struct Stub {
    mood: Mood,
    row: Mutex<Option<TaskRow>>,
    attempts: Mutex<usize>,
    hub: Arc<Hub>,
    claimers: Claimers,
    counters: WorkCounters,
}

fn broken() -> Error {
    Error::new(Reason::StorageUnavailable, "the storage failed")
}

impl Table<TaskRow> for Stub {
    fn read(&self, _id: &str, visit: &mut dyn FnMut(&TaskRow)) -> Result<bool> {
        if self.mood == Mood::Fails {
            return Err(broken());
        }
        let row = self.row.lock().unwrap();
        row.iter().for_each(visit);
        Ok(row.is_some())
    }

    fn count_partitions(&self) -> Result<()> {
        Ok(())
    }

    fn transact_within(&self, _id: &str, _limits: Limits, decide: &mut Decide<'_, TaskRow>) -> Result<()> {
        let first = {
            let mut attempts = self.attempts.lock().unwrap();
            *attempts += 1;
            *attempts == 1
        };
        let mut row = self.row.lock().unwrap();
        match self.mood {
            Mood::Fails => return Err(broken()),
            Mood::Loses => {
                let older = row.as_ref().map(|row| TaskRow { cancelation_requested: false, ..row.clone() });
                decide(older.as_ref(), fixtures::at(1))?;
            }
            Mood::Taken if first => {
                decide(Some(&fixtures::created()), fixtures::at(1))?;
                return Ok(());
            }
            Mood::Taken => {}
            Mood::Withdraws => {
                let change = |row: &TaskRow| {
                    let withdrawn = ["a".to_owned()];
                    transitions::mark_working(
                        row,
                        None,
                        Some(&withdrawn),
                        None,
                        fixtures::ANY,
                        fixtures::at(2),
                    )
                };
                *row = row.as_ref().map(|row| fixtures::put(change(row)));
            }
        }
        match decide(row.as_ref(), fixtures::at(2))? {
            Change::Keep => {}
            Change::Put(next) | Change::PutReplicated(next) | Change::PutUnannounced(next) => {
                *row = Some(next);
            }
            Change::Remove => *row = None,
        }
        Ok(())
    }

    fn now(&self) -> Result<Now> {
        Ok(fixtures::at(0))
    }

    fn ids(&self, _after: Option<&str>, _limit: usize) -> Result<Vec<Arc<str>>> {
        Ok(Vec::new())
    }

    fn sweep(&self, _most: usize) -> Result<usize> {
        Ok(0)
    }

    fn watch_expiry(&self, _listener: Weak<dyn ExpiryListener<TaskRow>>) {}

    fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }
}

impl TaskTable for Stub {
    fn list(
        &self,
        _query: &TaskQuery<'_>,
        _as_of: AsOf,
        visit: &mut dyn FnMut(&TaskRow, u64),
        corrupt: &mut Vec<String>,
    ) -> Result<Option<u64>> {
        self.row.lock().unwrap().iter().for_each(|row| visit(row, 1));
        corrupt.extend(["lost".to_owned(), "b\"d".to_owned()]);
        Ok(Some(1))
    }

    fn create(
        &self,
        _operation: Option<Operation<'_>>,
        id: &str,
        limits: Limits,
        decide: &mut Decide<'_, TaskRow>,
    ) -> Result<bool> {
        self.transact_within(id, limits, decide).map(|()| true)
    }

    fn claim(&self, _queues: &[Arc<str>], _decide: &mut DecideClaim<'_>) -> Result<Option<TaskRow>> {
        Err(broken())
    }

    fn transact_each(&self, _ids: &[&str], _decide: &mut DecideEach<'_>) -> Result<()> {
        Err(broken())
    }

    fn lapsed(&self, _most: usize) -> Result<Vec<Arc<str>>> {
        // One that fails finds lapses and cannot store them.
        if self.mood == Mood::Fails { Ok(vec![ID.into()]) } else { Err(broken()) }
    }

    fn next_due(&self, _queue: &str) -> Option<Moment> {
        None
    }

    fn next_lapse(&self) -> Option<Moment> {
        Some(fixtures::at(0).plus_ms(0))
    }

    fn claimers(&self) -> &Claimers {
        &self.claimers
    }

    fn work_counters(&self) -> &WorkCounters {
        &self.counters
    }
}

fn manager(mood: Mood, row: Option<TaskRow>) -> (TaskManager, Arc<Stub>) {
    let table = Arc::new(Stub {
        mood,
        row: Mutex::new(row),
        attempts: Mutex::new(0),
        hub: Arc::default(),
        claimers: Claimers::default(),
        counters: WorkCounters::default(),
    });
    let options = ManagerOptions::parse(None, true).unwrap();
    let manager = TaskManager::over(Arc::clone(&table) as Arc<dyn TaskTable>, options);
    (manager, table)
}

const ID: &str = "786512e2-9e0d-44bd-8f29-789f320fe840";
const CREATION: &str = r#"{"endpoint":"/mcp","origin":{}}"#;

#[test]
fn a_storage_failure_has_the_response_ready() {
    let (manager, _) = manager(Mood::Fails, None);
    for (method, id) in [("tasks/get", "17"), ("tasks/update", r#""\u0061""#), ("tasks/cancel", "-0")] {
        let request = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"taskId":"{ID}","inputResponses":{{}}}}}}"#
        );
        let response =
            manager.handle_request("/mcp", None, Some(capabilities::TASKS_REQUIRED), request.as_bytes());
        let error = response.expect_err("the storage failed");
        assert_eq!(error.reason(), Reason::StorageUnavailable);
        let ready =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32603,"message":"Internal error"}}}}"#);
        assert_eq!(error.response(), Some(&*ready));
    }
    // What needs no storage is answered all the same.
    let unknown = br#"{"jsonrpc":"2.0","id":1,"method":"x"}"#;
    assert!(manager.handle_request("/mcp", None, None, unknown).unwrap().is_some());
}

#[test]
fn lapses_that_cannot_be_found_or_stored_are_left_alone_for_a_while() {
    for mood in [Mood::Fails, Mood::Loses] {
        let (manager, _) = manager(mood, None);
        assert!(manager.lapses.keep().is_some_and(|rest| rest >= Duration::from_secs(1)));
    }
}

#[test]
fn a_storage_failure_announces_nothing() {
    let (manager, table) = manager(Mood::Fails, None);
    let events = table.hub.open_queue(10).unwrap();
    let failures = [
        manager.create_task(CREATION).err(),
        manager.find_task(ID).err(),
        manager.mark_task_working(ID, None, None).err(),
        manager.complete_task(ID, "{}", None, None).err(),
        manager.take_task_input_responses(ID, None).err(),
        manager.is_task_cancelation_requested(ID).err(),
        manager.request_task_cancelation("/mcp", None, ID).err(),
        manager.render_task("/mcp", None, ID, Rendering::GetResult, None).err(),
        manager.wait_task(ID, 0, None).err(),
    ];
    for failure in failures {
        assert_eq!(failure.map(|error| error.reason()), Some(Reason::StorageUnavailable));
    }
    assert!(events.next(Some(Duration::ZERO)).is_err());
}

#[test]
fn only_the_decision_that_was_kept_counts() {
    let lagging = TaskRow { cancelation_requested: true, ..fixtures::created() };
    let (manager, table) = manager(Mood::Loses, Some(lagging));
    let events = table.hub.open_queue(10).unwrap();
    manager.request_task_cancelation("/mcp", None, ID).unwrap();
    assert!(events.next(Some(Duration::ZERO)).is_err(), "somebody else was first: nothing changed");
    let record = manager.mark_task_working(ID, None, None).unwrap().into_text();
    assert_eq!(record.as_str(), manager.find_task(ID).unwrap().unwrap().as_str());
    assert!(record.as_str().contains("\"revision\":2,") && record.as_str().ends_with("true}"));
    assert_eq!(
        events.next(Some(Duration::ZERO)).unwrap().as_str(),
        format!(r#"{{"event":"changed","taskId":"{ID}"}}"#)
    );
    assert!(events.next(Some(Duration::ZERO)).is_err());
}

#[test]
fn answers_count_for_the_requests_that_are_open_when_they_are_stored() {
    let asking = fixtures::asked(
        &fixtures::created(),
        &format!("{{\"a\":{},\"b\":{}}}", fixtures::FORM, fixtures::ROOTS),
        None,
    );
    let (manager, table) = manager(Mood::Withdraws, Some(asking));
    let answers = format!("{{\"a\":{},\"b\":{{\"roots\":[]}}}}", fixtures::ACCEPT);
    let outcome = manager.update_task("/mcp", None, ID, &answers, None).unwrap();
    assert_eq!(outcome.as_str(), r#"{"accepted":["b"],"ignored":["a"]}"#);
    let row = table.row.lock().unwrap().clone().unwrap();
    assert_eq!(row.status, TaskStatus::Working);
    assert_eq!(row.input.unwrap().responses.len(), 1);
}

#[test]
fn a_taken_id_is_passed_over() {
    let (manager, table) = manager(Mood::Taken, None);
    let record = manager.create_task(CREATION).unwrap();
    assert_eq!(*table.attempts.lock().unwrap(), 2);
    let row = table.row.lock().unwrap().clone().unwrap();
    assert!(record.as_str().contains(row.texts.id()) && row.texts.id() != ID);
}

#[test]
fn a_page_names_rows_that_cannot_be_read() {
    let (manager, _) = manager(Mood::Loses, Some(fixtures::created()));
    let page = manager.list_tasks(None).unwrap();
    assert!(
        page.as_str().contains(r#"],"corrupt":["lost","b\"d"],"nextPageToken":"01"#),
        "{}",
        page.as_str()
    );
}
