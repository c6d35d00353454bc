use super::super::fixtures::{
    ACCEPT, ANY, FORM, ROOTS, SAMPLING, answered, answers, asked, at, created, ended, every_state, put, text,
    value,
};
use super::super::input;
use super::super::responses::UpdateOutcome;
use super::*;
use crate::error::Reason;

/// What an operation did to a row: the status, or why it was refused, or that nothing changed.
fn told(change: &Result<Change<TaskRow>>) -> &'static str {
    match change {
        Ok(Change::Put(row) | Change::PutReplicated(row) | Change::PutUnannounced(row)) => row.status.name(),
        Ok(Change::Keep) => "kept",
        Ok(Change::Remove) => "removed",
        Err(error) => error.reason().name(),
    }
}

fn update<'a>(
    row: &TaskRow,
    responses: &'a str,
    preconditions: Preconditions,
    now: Now,
) -> Result<(Change<TaskRow>, UpdateOutcome<'a>)> {
    let judgement = Judgement::of(value(responses), row.input.clone());
    let change = super::update(row, &judgement, preconditions, now)?;
    Ok((change, judgement.outcome))
}

fn mark_working(
    row: &TaskRow,
    message: Option<&Arc<str>>,
    withdraw: Option<&[String]>,
    preconditions: Preconditions,
    now: Now,
) -> Result<Change<TaskRow>> {
    super::mark_working(row, message, withdraw, None, preconditions, now)
}

fn request_input(
    row: &TaskRow,
    requests: &[Member],
    message: Option<&Arc<str>>,
    preconditions: Preconditions,
    now: Now,
) -> Result<Change<TaskRow>> {
    super::request_input(row, requests, message, &Asking::default(), preconditions, now)
}

fn take_responses(row: &TaskRow, preconditions: Preconditions) -> Result<(Change<TaskRow>, Text)> {
    super::take_responses(row, &Taking::default(), preconditions)
}

fn request_cancelation(row: &TaskRow) -> Change<TaskRow> {
    super::request_cancelation(row, at(5))
}

type Demanding<'a> = dyn Fn(&TaskRow, Preconditions) -> Result<Change<TaskRow>> + 'a;
type Operation = Box<dyn Fn(&TaskRow) -> Result<Change<TaskRow>>>;

fn operations() -> Vec<(&'static str, Operation)> {
    vec![
        ("mark working", Box::new(|row| mark_working(row, None, None, ANY, at(9)))),
        ("withdraw b", Box::new(|row| mark_working(row, None, Some(&["b".to_owned()]), ANY, at(9)))),
        (
            "request c",
            Box::new(|row| {
                let requests = input::parse_requests(&format!("{{\"c\":{FORM}}}"), 1000).unwrap();
                request_input(row, &requests, None, ANY, at(9))
            }),
        ),
        ("update b", Box::new(|row| Ok(update(row, r#"{"b":{"roots":[]}}"#, ANY, at(9))?.0))),
        ("take", Box::new(|row| Ok(take_responses(row, ANY)?.0))),
        ("complete", Box::new(|row| end(row, Ending::Completed("{}"), None, ANY, at(9)))),
        ("fail", Box::new(|row| end(row, Ending::Failed("{}"), None, ANY, at(9)))),
        ("cancel", Box::new(|row| end(row, Ending::Cancelled, None, ANY, at(9)))),
        ("request cancelation", Box::new(|row| Ok(request_cancelation(row)))),
    ]
}

#[test]
fn every_operation_in_every_state() {
    #[rustfmt::skip]
    let expected = [
        // mark working, withdraw b, request c, update b, take, complete, fail, cancel, request cancelation
        ("working", ["working", "working", "input_required", "kept", "kept",
                     "completed", "failed", "cancelled", "working"]),
        ("working, untaken", ["working", "working", "input_responses_untaken", "kept", "working",
                     "completed", "failed", "cancelled", "working"]),
        ("input_required", ["working", "input_required", "input_required", "input_required", "kept",
                     "completed", "failed", "cancelled", "input_required"]),
        ("input_required, untaken", ["working", "working", "input_responses_untaken", "working", "input_required",
                     "completed", "failed", "cancelled", "input_required"]),
        ("completed", ["task_terminal", "task_terminal", "task_terminal", "kept", "kept",
                     "task_terminal", "task_terminal", "task_terminal", "kept"]),
        ("failed", ["task_terminal", "task_terminal", "task_terminal", "kept", "kept",
                     "task_terminal", "task_terminal", "task_terminal", "kept"]),
        ("cancelled", ["task_terminal", "task_terminal", "task_terminal", "kept", "kept",
                     "task_terminal", "task_terminal", "task_terminal", "kept"]),
    ];
    let states = every_state();
    assert_eq!(states.len(), expected.len());
    for ((state, row), (name, outcomes)) in states.iter().zip(expected) {
        assert_eq!(*state, name);
        for ((operation, operate), outcome) in operations().iter().zip(outcomes) {
            assert_eq!(told(&operate(row)), outcome, "{operation} in state {state}");
        }
    }
}

#[test]
fn revision_and_time_move_with_the_record_only() {
    for (state, row) in every_state() {
        for (operation, operate) in operations() {
            let Ok(Change::Put(next)) = operate(&row) else { continue };
            let moves_revision = operation != "take";
            let moves_time = moves_revision && operation != "request cancelation";
            assert_eq!(next.revision - row.revision, u64::from(moves_revision), "{operation}, {state}");
            let expected_ms = if moves_time { at(9).wall_ms } else { row.updated_ms };
            assert_eq!(next.updated_ms, expected_ms, "{operation}, {state}");
            assert_eq!(next.texts.created_ms(), row.texts.created_ms());
            assert_eq!(next.cancelation_requested, operation == "request cancelation");
        }
    }
}

#[test]
fn the_time_of_the_last_update_never_goes_back() {
    let later = put(mark_working(&created(), None, None, ANY, at(100)));
    let stepped_back = put(mark_working(&later, None, None, ANY, at(-100)));
    assert_eq!(stepped_back.updated_ms, at(100).wall_ms);
    assert_eq!(stepped_back.revision, 3);
}

#[test]
fn preconditions_are_decided_in_order() {
    let fitting = |row: &TaskRow| Preconditions {
        expected_revision: Some(row.revision),
        unless_cancelation_requested: true,
        ..Preconditions::default()
    };
    let requests = input::parse_requests(&format!("{{\"a\":{ROOTS}}}"), 1000).unwrap();
    for (state, row) in every_state() {
        let requested = match request_cancelation(&row) {
            Change::Put(row) => row,
            _ => TaskRow { cancelation_requested: true, ..row.clone() },
        };
        let stale = Preconditions { expected_revision: Some(requested.revision + 1), ..fitting(&requested) };
        let nonterminal: [&Demanding<'_>; 3] = [
            &|row, demanded| mark_working(row, None, None, demanded, at(9)),
            &|row, demanded| request_input(row, &requests, None, demanded, at(9)),
            &|row, demanded| end(row, Ending::Cancelled, None, demanded, at(9)),
        ];
        for operate in nonterminal {
            let (stale, late) = (operate(&requested, stale), operate(&requested, fitting(&requested)));
            if row.status.is_terminal() {
                assert_eq!((told(&stale), told(&late)), ("task_terminal", "task_terminal"), "{state}");
            } else {
                assert_eq!(told(&stale), "revision_mismatch", "{state}");
                assert_eq!(told(&late), "cancelation_requested", "{state}");
            }
        }
        // A terminal task accepts an update and a take, and so their preconditions are asked alone.
        let updated = |demanded| update(&requested, "{}", demanded, at(9)).map(|(change, _)| change);
        assert_eq!(told(&updated(stale)), "revision_mismatch", "{state}");
        assert_eq!(told(&updated(fitting(&requested))), "cancelation_requested", "{state}");
        let taken = take_responses(&requested, stale).map(|(change, _)| change);
        assert_eq!(told(&taken), "revision_mismatch", "{state}");
        assert!(update(&row, "{}", fitting(&row), at(9)).is_ok(), "{state}");
    }
}

fn outstanding(row: &TaskRow) -> Vec<String> {
    row.input.iter().flat_map(|input| &input.outstanding).map(|open| decoded_key(open).into_owned()).collect()
}

fn try_ask(row: &TaskRow, requests: &str, message: Option<&str>) -> &'static str {
    let requests = input::parse_requests(requests, 1000).unwrap();
    told(&request_input(row, &requests, message.map(text).as_ref(), ANY, at(5)))
}

#[test]
fn repeating_an_outstanding_request_changes_nothing() {
    let asking = asked(&created(), &format!("{{\"a\":{FORM}}}"), Some("m"));
    assert_eq!(try_ask(&asking, &format!("{{\"a\":{FORM}}}"), Some("m")), "kept");
    let spelled = r#"{"\u0061":{"params":{"message":"\u006d"},"method":"elicitation/create"}}"#;
    assert_eq!(try_ask(&asking, spelled, Some("m")), "kept", "equal by meaning");
    // Another message changes the message alone.
    let requests = input::parse_requests(spelled, 1000).unwrap();
    let renamed = put(request_input(&asking, &requests, None, ANY, at(5)));
    assert_eq!((renamed.revision, renamed.status_message.as_deref()), (3, None));
    assert!(Arc::ptr_eq(renamed.input.as_ref().unwrap(), asking.input.as_ref().unwrap()));
    // A repeated one beside a new one adds the new one.
    let more = asked(&asking, &format!("{{\"a\":{FORM},\"b\":{ROOTS}}}"), Some("m"));
    assert_eq!(outstanding(&more), ["a", "b"]);
    assert_eq!(more.input.unwrap().used_keys.len(), 2);
}

#[test]
fn a_key_is_used_once_in_the_life_of_a_task() {
    let reused = "input_request_key_reused";
    let asking = asked(&created(), &format!("{{\"a\":{FORM}}}"), None);
    assert_eq!(try_ask(&asking, &format!("{{\"a\":{ROOTS}}}"), None), reused, "another request");
    assert_eq!(try_ask(&asking, &format!("{{\"b\":{ROOTS},\"a\":{ROOTS}}}"), None), reused);
    let taken = put(take_responses(&answered(&asking, &answers(&["a"])), ANY).map(|(change, _)| change));
    assert_eq!(try_ask(&taken, &format!("{{\"a\":{FORM}}}"), None), reused, "answered");
    assert_eq!(try_ask(&taken, &format!("{{\"\\u0061\":{FORM}}}"), None), reused, "spelled otherwise");
    let superseded = put(mark_working(&asking, None, None, ANY, at(5)));
    assert_eq!(try_ask(&superseded, &format!("{{\"a\":{FORM}}}"), None), reused, "superseded");
    let withdrawn = put(mark_working(&asking, None, Some(&["a".to_owned()]), ANY, at(5)));
    assert_eq!(try_ask(&withdrawn, &format!("{{\"a\":{FORM}}}"), None), reused, "withdrawn");
    assert_eq!(try_ask(&taken, &format!("{{\"\":{FORM},\" \":{FORM}}}"), None), "input_required");
    // The number 1 and the number 1.0 are different texts.
    let number = |spelled: &str| format!(r#"{{"n":{{"method":"roots/list","params":{{"x":{spelled}}}}}}}"#);
    let asking = asked(&created(), &number("1"), None);
    assert_eq!(try_ask(&asking, &number("1"), None), "kept");
    assert_eq!(try_ask(&asking, &number("1.0"), None), reused);
}

#[test]
fn untaken_responses_come_before_keys() {
    let half =
        answered(&asked(&created(), &format!("{{\"a\":{FORM},\"b\":{ROOTS}}}"), None), &answers(&["a"]));
    let untaken = "input_responses_untaken";
    assert_eq!(try_ask(&half, &format!("{{\"b\":{ROOTS}}}"), None), untaken, "a mere repetition");
    assert_eq!(try_ask(&half, &format!("{{\"a\":{FORM}}}"), None), untaken, "a reused key");
}

#[test]
fn an_update_tells_what_it_did() {
    let requests = format!("{{\"a\":{FORM},\"b\":{ROOTS},\"\\u0063\":{SAMPLING}}}");
    let asking = asked(&created(), &requests, Some("three"));
    let responses = format!(
        r#"{{"zz":{ACCEPT},"\u0061":{ACCEPT},"b":{ACCEPT},"c":{{"role":"user","model":"m","content":[]}}}}"#
    );
    let (change, outcome) = update(&asking, &responses, ANY, at(4)).unwrap();
    assert_eq!(outcome.to_json().as_str(), r#"{"accepted":["\u0061","c"],"ignored":["zz","b"]}"#);
    let next = put(Ok(change));
    assert_eq!(outstanding(&next), ["b"]);
    assert_eq!(next.status, TaskStatus::InputRequired);
    assert_eq!(next.status_message.as_deref(), Some("three"), "kept while a question is open");
    let (_, taken) = take_responses(&next, ANY).unwrap();
    assert_eq!(
        taken.as_str(),
        r#"{"a":{"action":"accept"},"\u0063":{"role":"user","model":"m","content":[]}}"#,
        "in order of acceptance, under the keys of the requests"
    );

    let last = answered(&next, r#"{ "b" : {"roots" : [ ]} }"#);
    assert_eq!((last.status, last.status_message.clone()), (TaskStatus::Working, None));
    let (change, taken) = take_responses(&last, ANY).unwrap();
    assert!(taken.as_str().ends_with(r#","b":{"roots" : [ ]}}"#), "byte for byte: {}", taken.as_str());
    let emptied = put(Ok(change));
    assert_eq!(take_responses(&emptied, ANY).unwrap().1.as_str(), "{}");

    let (change, outcome) = update(&emptied, &responses, ANY, at(4)).unwrap();
    assert!(matches!(change, Change::Keep));
    assert_eq!(outcome.to_json().as_str(), r#"{"accepted":[],"ignored":["zz","\u0061","b","c"]}"#);
}

#[test]
fn a_judgement_is_for_the_state_that_it_was_made_for() {
    let asking = asked(&created(), &format!("{{\"a\":{FORM}}}"), None);
    let input = asking.input.as_ref();
    // Equal by content is not enough: that would have to be compared within the store's step.
    let equal = input.map(|input| Arc::new(InputState::clone(input)));
    let judged = |input: Option<&Arc<InputState>>| Judgement::of(value("{}"), input.cloned());
    assert!(judged(input).is_for(input) && judged(None).is_for(None));
    assert!(!judged(input).is_for(equal.as_ref()));
    assert!(!judged(input).is_for(None) && !judged(None).is_for(input));
}

#[test]
fn one_answer_among_very_many_others() {
    let asking = asked(&created(), &format!("{{\"a\":{FORM},\"b\":{ROOTS}}}"), Some("m"));
    let others: Vec<String> = (0..20_000).map(|n| format!("\"{n}\":{ACCEPT}")).collect();
    let responses = format!("{{{},\"\\u0061\":{ACCEPT},\"z\":0}}", others.join(","));
    let (change, outcome) = update(&asking, &responses, ANY, at(4)).unwrap();
    assert_eq!((outcome.accepted.len(), outcome.ignored.len()), (1, others.len() + 1));
    let told = outcome.to_json();
    assert!(told.as_str().starts_with(r#"{"accepted":["\u0061"],"ignored":["0","1","#));
    assert!(told.as_str().ends_with(r#","19999","z"]}"#));
    let next = put(Ok(change));
    assert_eq!(outstanding(&next), ["b"]);
    assert_eq!(take_responses(&next, ANY).unwrap().1.as_str(), format!("{{\"a\":{ACCEPT}}}"));
}

#[test]
fn withdrawing_some_requests_keeps_the_question_open() {
    let asking = asked(&created(), &format!("{{\"a\":{FORM},\"\\u0062\":{ROOTS}}}"), Some("m"));
    let progress = put(mark_working(&asking, Some(&text("p")), Some(&[]), ANY, at(5)));
    assert_eq!((progress.status, progress.status_message.as_deref()), (TaskStatus::InputRequired, Some("p")));
    assert_eq!(outstanding(&progress), ["a", "b"]);
    let withdrawn = ["b".to_owned(), "never".to_owned()];
    let one = put(mark_working(&asking, None, Some(&withdrawn), ANY, at(5)));
    assert_eq!((one.status, outstanding(&one)), (TaskStatus::InputRequired, vec!["a".to_owned()]));
    let (change, outcome) = update(&one, r#"{"b":{"roots":[]}}"#, ANY, at(6)).unwrap();
    assert!(matches!(change, Change::Keep) && outcome.accepted.is_empty(), "answers come too late");
    let none = put(mark_working(&one, None, Some(&["a".to_owned()]), ANY, at(5)));
    assert_eq!((none.status, outstanding(&none)), (TaskStatus::Working, vec![]));
}

#[test]
fn marking_working_keeps_untaken_responses() {
    for (state, row) in every_state().into_iter().filter(|(state, _)| state.ends_with("untaken")) {
        let working = put(mark_working(&row, None, None, ANY, at(5)));
        assert!(outstanding(&working).is_empty());
        assert_eq!(take_responses(&working, ANY).unwrap().1.as_str(), answers(&["a"]), "{state}");
    }
}

#[test]
fn the_end_clears_the_input_rounds() {
    for (state, row) in every_state().into_iter().filter(|(_, row)| !row.status.is_terminal()) {
        let requested = put(Ok(request_cancelation(&row)));
        let done = put(end(&requested, Ending::Completed("{}"), Some(&text("done")), ANY, at(5)));
        assert!(done.input.is_none(), "{state}");
        assert_eq!(done.texts.outcome(), Some("{}"));
        assert_eq!(done.status_message.as_deref(), Some("done"));
        assert!(done.cancelation_requested, "stays visible after the end");
        assert_eq!(ended(&row, Ending::Cancelled).texts.outcome(), None);
    }
}

#[test]
fn many_keys_are_told_apart() {
    let requests: Vec<String> = (0..2000).map(|n| format!("\"k{n}\":{ROOTS}")).collect();
    let asking = asked(&created(), &format!("{{{}}}", requests.join(",")), None);
    let responses: Vec<String> = (0..1999).map(|n| format!("\"k{n}\":{{\"roots\":[]}}")).collect();
    let next = answered(&asking, &format!("{{{}}}", responses.join(",")));
    assert_eq!(outstanding(&next), ["k1999"]);
    let reason = Reason::InputRequestKeyReused.name();
    let taken = put(take_responses(&next, ANY).map(|(change, _)| change));
    assert_eq!(try_ask(&taken, &format!("{{\"k0\":{ROOTS}}}"), None), reason);
}
