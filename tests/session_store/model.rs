//! Random sequences of calls against a model of the rules that keeps plain lists.

use std::collections::HashMap;

use proptest::prelude::*;

use crate::support::stores::ages_by_wall_clock;
use crate::support::{START_MS, at, find, next, world};

const IDLE_MS: i64 = 100;
const INITIALIZATION_MS: i64 = 40;
const LIMIT: usize = 3;
const IDS: usize = 5;

#[derive(Clone, Debug)]
enum Step {
    Create(usize),
    Initialize(usize),
    Touch(usize),
    Terminate(usize),
    Delete(usize),
    Pin(usize),
    Unpin(usize),
    Advance(i64),
    MoveWall(i64),
}

fn step() -> impl Strategy<Value = Step> {
    let id = || 0..IDS;
    prop_oneof![
        4 => id().prop_map(Step::Create),
        3 => id().prop_map(Step::Initialize),
        2 => id().prop_map(Step::Touch),
        2 => id().prop_map(Step::Terminate),
        1 => id().prop_map(Step::Delete),
        2 => id().prop_map(Step::Pin),
        2 => id().prop_map(Step::Unpin),
        4 => (0..60_i64).prop_map(Step::Advance),
        1 => (-1000..1000_i64).prop_map(Step::MoveWall),
    ]
}

/// A session as the rules see it; times are monotonic, in ms.
#[derive(Default)]
struct Session {
    text: String,
    created: i64,
    idle_since: i64,
    initialized: bool,
    terminated: bool,
    pins: u32,
}

impl Session {
    fn is_there(&self, now: i64) -> bool {
        let idle = self.pins == 0 && now - self.idle_since > IDLE_MS;
        let overdue = !self.initialized && !self.terminated && now - self.created > INITIALIZATION_MS;
        !idle && !overdue
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_store_does_what_the_model_does(steps in proptest::collection::vec(step(), 1..120)) {
        let (world, sessions) = world(&format!(
            r#"{{"idleTimeoutMs":{IDLE_MS},"initializationTimeoutMs":{INITIALIZATION_MS},"concurrentSessionLimit":{LIMIT},"keepExpired":1000}}"#
        ));
        let mut model: HashMap<usize, Session> = HashMap::new();
        let (mut now, mut wall) = (0, 0);
        let (mut created, mut deleted) = (0, 0);
        for step in steps {
            match step {
                Step::Create(id) => {
                    let outcome = sessions.create("/mcp", Some(&format!(r#"{{"sessionId":"{id}"}}"#)));
                    let slots = model.values().filter(|session| !session.terminated).count();
                    match outcome {
                        Err(_) => prop_assert!(model.contains_key(&id)),
                        Ok(None) => prop_assert!(!model.contains_key(&id) && slots == LIMIT),
                        Ok(Some(text)) => {
                            prop_assert!(!model.contains_key(&id) && slots < LIMIT);
                            created += 1;
                            let text = text.as_str().to_owned();
                            model.insert(id, Session { text, created: now, idle_since: now, ..Session::default() });
                        }
                    }
                }
                Step::Initialize(id) | Step::Touch(id) | Step::Terminate(id) => {
                    let Some(session) = model.get_mut(&id) else { continue };
                    let updated = match step {
                        Step::Initialize(_) => next(&session.text, &[("initialized", "true")]),
                        Step::Touch(_) => next(&session.text, &[("lastActivityAt", &at(wall))]),
                        _ => next(&session.text, &[("terminatedAt", &at(wall))]),
                    };
                    prop_assert!(sessions.replace(&session.text, &updated).unwrap());
                    let same_activity = updated.contains(&format!("\"lastActivityAt\":{}", at(wall)))
                        && session.text.contains(&format!("\"lastActivityAt\":{}", at(wall)));
                    session.text = updated;
                    match step {
                        Step::Initialize(_) => session.initialized = true,
                        Step::Touch(_) if !session.terminated && !same_activity => session.idle_since = now,
                        Step::Terminate(_) if !session.terminated => {
                            session.terminated = true;
                            session.idle_since = now;
                        }
                        _ => {}
                    }
                }
                Step::Delete(id) => {
                    sessions.delete_by_session_id(&id.to_string()).unwrap();
                    deleted += usize::from(model.remove(&id).is_some());
                }
                Step::Pin(id) => {
                    prop_assert_eq!(sessions.pin(&id.to_string()).unwrap(), model.contains_key(&id));
                    if let Some(session) = model.get_mut(&id) {
                        session.pins += 1;
                    }
                }
                Step::Unpin(id) => {
                    sessions.unpin(&id.to_string()).unwrap();
                    if let Some(session) = model.get_mut(&id).filter(|session| session.pins > 0) {
                        session.pins -= 1;
                        if session.pins == 0 {
                            session.idle_since = now;
                        }
                    }
                }
                Step::Advance(ms) => {
                    world.advance(ms);
                    now += ms;
                    wall += ms;
                }
                // Elsewhere ages follow the wall clock.
                Step::MoveWall(_) if ages_by_wall_clock() => {}
                Step::MoveWall(ms) => {
                    world.clock.step_wall(ms).unwrap();
                    wall += ms;
                }
            }
            model.retain(|_, session| session.is_there(now));
            for id in 0..IDS {
                let expected = model.get(&id).map(|session| session.text.clone());
                prop_assert_eq!(find(&sessions, &id.to_string()), expected, "{}", START_MS + wall);
            }
        }
        let expired: Vec<serde_json::Value> =
            serde_json::from_str(sessions.take_expired().unwrap().as_str()).unwrap();
        prop_assert_eq!(expired.len(), created - deleted - model.len());
    }
}
