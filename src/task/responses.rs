//! A client's answers to input requests, judged against the requests that are open. A client may send a million
//! of them: they are judged before the store is asked to change the task, so that its atomic step costs as much
//! as the task has open requests, however many answers there are.

#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::input::{InputKind, decoded_key};
use crate::error::Result;
use crate::json::{ObjectWriter, Value};
use crate::store::{InputState, Member};
use crate::text::{Text, to_shared};

/// What an update did with each response, by its key as the client sent it.
#[derive(Debug, Default)]
pub(crate) struct UpdateOutcome<'a> {
    pub(crate) accepted: Vec<&'a str>,
    pub(crate) ignored: Vec<&'a str>,
}

impl UpdateOutcome<'_> {
    /// What the host is told.
    pub(crate) fn to_json(&self) -> Text {
        let mut text = Text::with_capacity(32);
        let mut outcome = ObjectWriter::new(&mut text);
        for (name, keys) in [("accepted", &self.accepted), ("ignored", &self.ignored)] {
            outcome.array(name).json(keys);
        }
        drop(outcome);
        text
    }
}

/// Which of a client's answers count in one state of a task's input.
#[derive(Debug)]
pub(crate) struct Judgement<'a> {
    input: Option<Arc<InputState>>,
    /// Places of requests among those outstanding, in the order of their answers, and these.
    answers: Vec<(usize, Value<'a>)>,
    pub(crate) outcome: UpdateOutcome<'a>,
}

impl<'a> Judgement<'a> {
    /// Judges `responses`, an object, against what is outstanding in `input`.
    pub(crate) fn of(responses: Value<'a>, input: Option<Arc<InputState>>) -> Self {
        let outstanding: &[Member] = input.as_ref().map_or(&[], |input| &input.outstanding);
        let open: HashMap<Cow<'_, str>, usize> =
            outstanding.iter().enumerate().map(|(place, request)| (decoded_key(request), place)).collect();
        let mut answers = Vec::new();
        let mut outcome = UpdateOutcome::default();
        for member in responses.members() {
            let place = open.get(&member.key()).copied().filter(|&place| {
                InputKind::of_request(Value::trusted(&outstanding[place].value))
                    .is_some_and(|kind| kind.is_answered_by(member.value))
            });
            if let Some(place) = place {
                answers.push((place, member.value));
                outcome.accepted.push(member.raw_key);
            } else {
                outcome.ignored.push(member.raw_key);
            }
        }
        Self { input, answers, outcome }
    }

    /// Whether it was made for this state.
    pub(crate) fn is_for(&self, input: Option<&Arc<InputState>>) -> bool {
        match (&self.input, input) {
            (Some(judged), Some(input)) => Arc::ptr_eq(judged, input),
            (judged, input) => judged.is_none() && input.is_none(),
        }
    }

    /// The state with the accepted answers in it; `None` when there are none.
    pub(crate) fn answered(&self) -> Result<Option<InputState>> {
        let Some(before) = self.input.as_deref().filter(|_| !self.answers.is_empty()) else {
            return Ok(None);
        };
        let mut open = vec![true; before.outstanding.len()];
        let mut responses = before.responses.clone();
        for &(place, response) in &self.answers {
            open[place] = false;
            let key = Arc::clone(&before.outstanding[place].key);
            responses.push(Member { key, value: to_shared(response.text())? });
        }
        let still_open = before.outstanding.iter().zip(open).filter(|(_, open)| *open);
        let outstanding = still_open.map(|(request, _)| request.clone()).collect();
        Ok(Some(InputState { outstanding, used_keys: before.used_keys.clone(), responses }))
    }
}
