//! What a save or a delete makes of the row that is stored: pure functions of (row, command, now). The last
//! write wins unless a revision is expected; a final state is never taken back, and the instant at which a task
//! first became final never moves. Revisions count from 1, also for an id that was deleted and is saved again.

#![forbid(unsafe_code)]

use std::sync::Arc;

use super::state;
use crate::error::{Error, Reason, Result};
use crate::store::{A2aRow, Appended, ArrayIndex, Change, KeptEvents, corrupt_row};

/// A save, with everything that need not be made under a lock.
#[derive(Debug)]
pub(crate) struct Save<'a> {
    /// Global id.
    pub id: &'a str,
    /// Who saves.
    pub owner: Option<&'a str>,
    /// Context, if the task has one.
    pub context_id: Option<&'a str>,
    /// State in the stored spelling.
    pub state: &'a str,
    /// Status timestamp, ms.
    pub status_timestamp_ms: Option<i64>,
    /// The task: JSON text.
    pub task: Arc<str>,
    /// Where `history` stands in it.
    pub history: Option<Arc<ArrayIndex>>,
    /// Where `artifacts` stands in it.
    pub artifacts: Option<Arc<ArrayIndex>>,
    /// The revision that the task must have; 0 is "must not exist".
    pub expected_revision: Option<u64>,
    /// Whether the task must be there.
    pub must_exist: bool,
    /// Whether a task that is final already is left alone.
    pub unless_final: bool,
    /// What goes into the task's log with this save.
    pub appended: Option<Appended>,
    /// How long the task is kept once it is final, ms; 0 is for ever.
    pub finalized_retention_ms: i64,
    /// How long it is kept after this save when it is not, ms; 0 is for ever.
    pub active_retention_ms: i64,
}

/// The row after a save.
#[derive(Debug)]
pub(crate) struct Saved {
    /// What to store.
    pub row: A2aRow,
    /// Whether this save is the one that made the task final.
    pub became_final: bool,
}

/// Saves a task over what is stored.
pub(crate) fn save(stored: Option<&A2aRow>, save: &Save<'_>, tick_ns: i64) -> Result<Saved> {
    if stored.is_some_and(|row| row.owner.as_deref() != save.owner) {
        return Err(not_found());
    }
    if save.must_exist && stored.is_none() {
        return Err(not_found());
    }
    let revision = stored.map_or(0, |row| row.revision);
    if save.expected_revision.is_some_and(|expected| expected != revision) {
        return Err(Error::new(Reason::RevisionMismatch, "the task has another revision than expected"));
    }
    let is_final = state::is_final(save.state);
    if stored.is_some_and(|row| row.is_final) {
        if save.unless_final {
            return Err(Error::new(Reason::TaskFinal, "the task is final already"));
        }
        if !is_final {
            return Err(Error::new(
                Reason::TaskFinal,
                "a final task is not taken back to a state that is not final",
            ));
        }
    }
    let finalized_before = stored.and_then(|row| row.finalized_tick_ns);
    let row = A2aRow {
        id: stored.map_or_else(|| Arc::from(save.id), |row| Arc::clone(&row.id)),
        owner: save.owner.map(|owner| shared(stored.and_then(|row| row.owner.as_ref()), owner)),
        context_id: save.context_id.map(|id| shared(stored.and_then(|row| row.context_id.as_ref()), id)),
        state: shared(stored.map(|row| &row.state), save.state),
        is_final,
        status_timestamp_ms: save.status_timestamp_ms,
        finalized_tick_ns: finalized_before.or(is_final.then_some(tick_ns)),
        saved_tick_ns: tick_ns,
        retention_ms: if is_final { save.finalized_retention_ms } else { save.active_retention_ms },
        revision: revision.saturating_add(1),
        task: Arc::clone(&save.task),
        history: save.history.clone(),
        artifacts: save.artifacts.clone(),
        push_configs: stored
            .filter(|row| !row.has_damaged_push_configs())
            .and_then(|row| row.push_configs.clone()),
        appended: save.appended.clone(),
        log: stored.map(|row| row.log).unwrap_or_default(),
        kept_events: KeptEvents::default(),
    };
    Ok(Saved { row, became_final: is_final && finalized_before.is_none() })
}

/// Lets `change` change the push notification configs of `owner`'s task. `None` when there is no such task.
pub(crate) fn change_push_configs(
    stored: Option<&A2aRow>,
    owner: Option<&str>,
    change: impl FnOnce(Option<&str>) -> Result<Option<Arc<str>>>,
) -> Result<Option<Change<A2aRow>>> {
    let Some(row) = stored else { return Ok(None) };
    if row.owner.as_deref() != owner {
        return Err(not_found());
    }
    if row.is_damaged() || row.has_damaged_push_configs() {
        return Err(corrupt_row());
    }
    let push_configs = change(row.push_configs.as_deref())?;
    Ok(Some(Change::PutUnannounced(A2aRow { push_configs, ..row.clone() })))
}

pub(crate) fn not_found() -> Error {
    Error::new(Reason::TaskNotFound, "there is no such task for this owner")
}

/// Deletes a task of `owner`'s; a foreign task stays, as if it were not there.
pub(crate) fn delete(stored: Option<&A2aRow>, owner: Option<&str>) -> Change<A2aRow> {
    match stored {
        Some(row) if row.owner.as_deref() == owner => Change::Remove,
        _ => Change::Keep,
    }
}

/// `text`, in the allocation of the stored row when that says the same.
fn shared(stored: Option<&Arc<str>>, text: &str) -> Arc<str> {
    match stored {
        Some(stored) if **stored == *text => Arc::clone(stored),
        _ => Arc::from(text),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::clock::NANOS_PER_MILLI;
    use crate::store::Row as _;

    /// A row in `state`, first saved at tick 100.
    pub(crate) fn row(state: &str) -> A2aRow {
        save(None, &command(state), 100).expect("a first save").row
    }

    fn command(state: &str) -> Save<'_> {
        Save {
            id: "t",
            owner: Some("ann"),
            context_id: Some("c"),
            state,
            status_timestamp_ms: None,
            task: Arc::from("{}"),
            history: None,
            artifacts: None,
            expected_revision: None,
            must_exist: false,
            unless_final: false,
            appended: None,
            finalized_retention_ms: 0,
            active_retention_ms: 0,
        }
    }

    fn reason(result: Result<Saved>) -> Reason {
        result.expect_err("a refusal").reason()
    }

    #[test]
    fn revisions_start_at_one_and_grow() {
        let mut stored = row("working");
        assert_eq!(stored.revision, 1);
        for revision in 2..5 {
            stored = save(Some(&stored), &command("working"), 200).expect("a save").row;
            assert_eq!(stored.revision, revision);
        }
    }

    #[test]
    fn push_configs_are_left_alone_where_anything_is_damaged() {
        for (task, configs) in [("", "[]"), ("{}", ""), ("", "")] {
            let stored = A2aRow { task: task.into(), push_configs: Some(configs.into()), ..row("working") };
            let changed = change_push_configs(Some(&stored), Some("ann"), |_| panic!("it was changed"));
            assert_eq!(changed.map(|_| ()).expect_err("a refusal").reason(), Reason::CorruptRow);
        }
    }

    #[test]
    fn every_pair_of_states() {
        for from in ["working", "input-required", "completed", "canceled", "failed", "rejected", "paused"] {
            for to in ["working", "submitted", "completed", "canceled", "failed", "rejected", "paused"] {
                let stored = row(from);
                let result = save(Some(&stored), &command(to), 200);
                if state::is_final(from) && !state::is_final(to) {
                    assert_eq!(reason(result), Reason::TaskFinal, "{from} to {to}");
                    continue;
                }
                let saved = result.expect("a save");
                assert_eq!(&*saved.row.state, to);
                assert_eq!(saved.row.is_final, state::is_final(to));
                assert_eq!(
                    saved.became_final,
                    !state::is_final(from) && state::is_final(to),
                    "{from} to {to}"
                );
                let expected = match (state::is_final(from), state::is_final(to)) {
                    (true, _) => Some(100),
                    (false, true) => Some(200),
                    (false, false) => None,
                };
                assert_eq!(saved.row.finalized_tick_ns, expected, "{from} to {to}");
            }
        }
    }

    #[test]
    fn a_first_save_may_be_final() {
        let saved = save(None, &command("failed"), 7).expect("a save");
        assert!(saved.became_final);
        assert_eq!(saved.row.finalized_tick_ns, Some(7));
    }

    #[test]
    fn the_owner_comes_before_the_revision_and_the_revision_before_the_state() {
        let stored = row("completed");
        let foreign = Save { owner: None, expected_revision: Some(9), ..command("working") };
        assert_eq!(reason(save(Some(&stored), &foreign, 200)), Reason::TaskNotFound);
        let stale = Save { expected_revision: Some(9), ..command("working") };
        assert_eq!(reason(save(Some(&stored), &stale, 200)), Reason::RevisionMismatch);
        let back = Save { expected_revision: Some(1), ..command("working") };
        assert_eq!(reason(save(Some(&stored), &back, 200)), Reason::TaskFinal);
    }

    #[test]
    fn expected_revisions() {
        let expecting = |revision| Save { expected_revision: Some(revision), ..command("working") };
        let stored = row("working");
        assert_eq!(reason(save(Some(&stored), &expecting(0), 200)), Reason::RevisionMismatch);
        assert_eq!(reason(save(Some(&stored), &expecting(2), 200)), Reason::RevisionMismatch);
        assert_eq!(save(Some(&stored), &expecting(1), 200).expect("a save").row.revision, 2);
        assert_eq!(save(None, &expecting(0), 200).expect("a save").row.revision, 1);
        assert_eq!(reason(save(None, &expecting(1), 200)), Reason::RevisionMismatch);
    }

    #[test]
    fn a_task_that_must_exist_and_one_that_must_not_be_final() {
        let must_exist = Save { must_exist: true, ..command("working") };
        assert_eq!(reason(save(None, &must_exist, 200)), Reason::TaskNotFound);
        assert_eq!(save(Some(&row("working")), &must_exist, 200).expect("a save").row.revision, 2);
        // Absence comes before the revision, the revision before the state.
        let both = Save { must_exist: true, expected_revision: Some(3), ..command("working") };
        assert_eq!(reason(save(None, &both, 200)), Reason::TaskNotFound);
        let unless_final = |state| Save { unless_final: true, ..command(state) };
        assert_eq!(reason(save(Some(&row("failed")), &unless_final("canceled"), 200)), Reason::TaskFinal);
        let stale = Save { expected_revision: Some(9), ..unless_final("canceled") };
        assert_eq!(reason(save(Some(&row("failed")), &stale, 200)), Reason::RevisionMismatch);
        assert!(save(Some(&row("working")), &unless_final("canceled"), 200).expect("a save").became_final);
        assert!(save(None, &unless_final("canceled"), 200).expect("a save").became_final);
    }

    #[test]
    fn what_a_task_is_kept_for_depends_on_its_state() {
        let save_at = |stored: Option<&A2aRow>, state, tick_ns| {
            let command = Save { finalized_retention_ms: 5, active_retention_ms: 7, ..command(state) };
            save(stored, &command, tick_ns).expect("a save").row
        };
        let ms = NANOS_PER_MILLI;
        let first = save_at(None, "working", 0);
        assert_eq!(first.expires_at(), Some(7 * ms));
        let second = save_at(Some(&first), "input-required", 3 * ms);
        assert_eq!(second.expires_at(), Some(10 * ms));
        let last = save_at(Some(&second), "failed", 4 * ms);
        assert_eq!(last.expires_at(), Some(9 * ms));
        // The time at which it first became final does not move.
        assert_eq!(save_at(Some(&last), "completed", 6 * ms).expires_at(), Some(9 * ms));
        assert_eq!(row("working").expires_at(), None);
    }

    #[test]
    fn owners_none_empty_and_default_are_three() {
        let owners = [None, Some(""), Some("default")];
        for mine in owners {
            let stored = save(None, &Save { owner: mine, ..command("working") }, 1).expect("a save").row;
            for other in owners {
                let result = save(Some(&stored), &Save { owner: other, ..command("working") }, 2);
                assert_eq!(result.is_ok(), mine == other);
                assert_eq!(matches!(delete(Some(&stored), other), Change::Remove), mine == other);
            }
        }
        assert!(matches!(delete(None, None), Change::Keep));
    }

    #[test]
    fn a_save_replaces_every_column_and_shares_what_is_the_same() {
        let stored = row("working");
        let next = Save {
            context_id: None,
            status_timestamp_ms: Some(5),
            task: Arc::from("{\"id\":\"t\"}"),
            active_retention_ms: 9,
            ..command("working")
        };
        let saved = save(Some(&stored), &next, 200).expect("a save").row;
        assert_eq!((saved.context_id.as_deref(), saved.status_timestamp_ms), (None, Some(5)));
        assert_eq!((&*saved.task, saved.retention_ms), ("{\"id\":\"t\"}", 9));
        assert!(Arc::ptr_eq(&saved.id, &stored.id) && Arc::ptr_eq(&saved.state, &stored.state));
        let owner = |row: &A2aRow| Arc::as_ptr(row.owner.as_ref().expect("an owner"));
        assert!(std::ptr::addr_eq(owner(&saved), owner(&stored)));
    }
}
