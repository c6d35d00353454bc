//! Races through the exports, in many rounds (`TASKHOLD_RACE_ROUNDS`, 2000 unless given): whatever the order
//! in which calls meet, what they gave and what is stored afterwards must fit one order of them.

mod support;

#[path = "races"]
mod races {
    mod a2a;
    mod closing;
    mod harness;
    mod limits;
    mod sessions;
    mod tasks;
    mod walks;
    mod work;
}
