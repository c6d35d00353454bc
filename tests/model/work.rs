//! The model of queued work: what a task has that was created with a queue, a lease or an operation id, and the rules
//! of its lease.

use serde_json::{Value, json};

use super::call::{Expected, refused};
use super::tasks::{Conditions, Task};
use super::time::{Time, timestamp};

/// Under what a worker acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Authority {
    #[default]
    Unstated,
    Lease(u64),
    Forced,
}

#[derive(Clone, Debug)]
#[expect(clippy::struct_field_names, reason = "the record's own name for it")]
pub struct Work {
    pub queue: Option<&'static str>,
    /// Its text, and its meaning.
    pub work: Option<(&'static str, u8)>,
    pub operation: Option<&'static str>,
    pub maximum: u64,
    pub backoff: (i64, i64),
    pub attempt: u64,
    pub continues: bool,
    pub token: u64,
    pub lease: Option<(&'static str, Time)>,
    pub available: Option<Time>,
    pub checkpoint: Value,
    pub last_failure: Value,
    /// The time as of which it is shown.
    pub now: Time,
}

/// How a worker gives a task back.
pub struct Release {
    pub conditions: Conditions,
    pub delay: i64,
    pub counts: bool,
    /// `Some(None)` clears the message.
    #[expect(clippy::option_option, reason = "absent and null differ")]
    pub message: Option<Option<&'static str>>,
    pub checkpoint: Value,
    pub failure: Option<&'static str>,
}

fn lease_lost() -> Expected {
    Expected::Refused("conflict", "lease_lost")
}

impl Work {
    pub fn is_fenced(&self) -> bool {
        // A lease without a queue began the first attempt.
        self.queue.is_some() || self.attempt > 0
    }

    fn backoff(&self) -> i64 {
        (1..self.attempt).fold(self.backoff.0, |ms, _| (ms * 2).min(self.backoff.1)).min(self.backoff.1)
    }

    pub fn has_attempts_left(&self) -> bool {
        self.attempt < self.maximum
    }

    fn lapse(&self) -> Option<Time> {
        self.lease.map(|(_, ends)| ends).filter(|ends| ends.tick <= self.now.tick)
    }

    /// Who holds it.
    pub fn holder(&self) -> Option<&'static str> {
        self.lease.filter(|_| self.lapse().is_none()).map(|(worker, _)| worker)
    }

    /// When the next attempt may begin, as things stand.
    fn available(&self) -> Option<Time> {
        let available = self.available?;
        Some(self.lapse().map_or(available, |lapse| lapse.plus(self.backoff())))
    }

    /// The members of a record.
    fn push(&self, record: &mut Value, is_terminal: bool, with_payload: bool) {
        if with_payload {
            record["work"] = self.work.map_or(Value::Null, |(text, _)| parsed(text));
            record["checkpoint"] = self.checkpoint.clone();
        }
        let available = if is_terminal { self.available } else { self.available() };
        record["queue"] = json!(self.queue);
        record["attempt"] = self.attempt.into();
        record["attempts"] =
            json!({"maximum": self.maximum, "backoffMs": self.backoff.0, "maximumBackoffMs": self.backoff.1});
        record["availableAt"] = json!(available.map(|time| timestamp(time.wall)));
        record["lease"] = self.lease.map_or(
            Value::Null,
            |(worker, ends)| json!({"worker": worker, "expiresAt": timestamp(ends.wall)}),
        );
        record["lastFailure"] = self.last_failure.clone();
        record["operationId"] = json!(self.operation);
    }
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

impl Task {
    fn work_mut(&mut self) -> &mut Work {
        self.work.as_mut().expect("queued work")
    }

    pub fn is_fenced(&self) -> bool {
        self.work.as_ref().is_some_and(Work::is_fenced)
    }

    pub fn queue(&self) -> Option<&'static str> {
        self.work.as_ref()?.queue
    }

    /// Adds what a record says of the work.
    pub fn push_work(&self, record: &mut Value, with_payload: bool) {
        if let Some(work) = &self.work {
            work.push(record, self.is_terminal(), with_payload);
        }
    }

    /// The record for who has just got the lease.
    pub fn record_with_token(&self) -> Value {
        let mut record = self.record(true);
        if let Some(work) = self.work.as_ref().filter(|work| work.lease.is_some()) {
            record["lease"]["token"] = work.token.into();
        }
        record
    }

    /// What time does to the task. Whether it ended it.
    pub fn settle(&mut self, now: Time) -> bool {
        let is_open = !self.is_terminal();
        let Some(work) = &mut self.work else { return false };
        work.now = now;
        let Some(lapse) = work.lapse() else { return false };
        if !is_open || (work.has_attempts_left() && !self.cancelation_requested) {
            return false;
        }
        let failure = r#"{"code":-32603,"message":"The work on this task was abandoned."}"#;
        if self.cancelation_requested {
            self.finish("cancelled", None, None, lapse);
        } else {
            self.finish("failed", Some(("error", failure.to_owned())), None, lapse);
        }
        true
    }

    pub fn finish(
        &mut self,
        status: &'static str,
        ending: Option<(&'static str, String)>,
        message: Option<&str>,
        when: Time,
    ) {
        self.status = status;
        self.ending = ending;
        self.message = message.map(str::to_owned);
        self.outstanding.clear();
        self.responses.clear();
        if let Some(work) = &mut self.work {
            work.lease = None;
        }
        self.touch(when);
    }

    pub fn check_authority(&self, authority: Authority) -> Result<(), Expected> {
        let work = self.work.as_ref().filter(|work| work.is_fenced());
        match (work, authority) {
            (None, Authority::Unstated) | (_, Authority::Forced) => Ok(()),
            (Some(_), Authority::Unstated) => Err(refused("lease_required")),
            (Some(work), Authority::Lease(token)) if work.lease.is_some() && work.token == token => Ok(()),
            (_, Authority::Lease(_)) => Err(lease_lost()),
        }
    }

    /// Whether the task may have a checkpoint, should one be given.
    pub fn check_checkpoint(&self, checkpoint: &Value) -> Result<(), Expected> {
        if checkpoint.is_null() || self.is_fenced() { Ok(()) } else { Err(refused("lease_required")) }
    }

    pub fn note(&mut self, checkpoint: &Value) {
        if !checkpoint.is_null() {
            self.work_mut().checkpoint = checkpoint.clone();
        }
    }

    /// Lets go of a task whose requests are outstanding.
    pub fn park(&mut self) {
        let work = self.work_mut();
        work.available = work.available();
        work.lease = None;
        work.continues = true;
    }

    /// From when on it can be claimed, as things stand.
    pub fn due(&self) -> Option<Time> {
        let work = self.work.as_ref()?;
        let is_held = work.holder().is_some();
        let is_spent = work.lease.is_some() && !work.has_attempts_left();
        let is_open = self.status == "working" && !self.cancelation_requested;
        work.available().filter(|_| is_open && !is_held && !is_spent)
    }

    pub fn claim(&mut self, worker: &'static str, lease_ms: i64, now: Time) {
        let work = self.work_mut();
        work.available = work.available();
        work.attempt += u64::from(!work.continues);
        work.continues = false;
        work.token += 1;
        work.lease = Some((worker, now.plus(lease_ms)));
        self.revision += 1;
    }

    /// Whether the lease was not lost.
    pub fn renew(&mut self, token: u64, lease_ms: i64, checkpoint: &Value, now: Time) -> bool {
        if self.is_terminal() || self.check_authority(Authority::Lease(token)).is_err() {
            return false;
        }
        self.note(checkpoint);
        if let Some((_, ends)) = &mut self.work_mut().lease {
            *ends = now.plus(lease_ms);
        }
        true
    }

    /// Whether it is announced.
    pub fn release(&mut self, release: &Release, now: Time) -> Result<bool, Expected> {
        if self.is_terminal() {
            return Err(refused("task_terminal"));
        }
        if release.conditions.authority == Authority::Unstated {
            return Err(refused("lease_required"));
        }
        self.check_authority(release.conditions.authority)?;
        if self.queue().is_none() {
            return Err(refused("not_queued"));
        }
        self.note(&release.checkpoint);
        if let Some(failure) = release.failure {
            self.work_mut().last_failure = parsed(failure);
        }
        let message = match release.message {
            None => self.message.clone(),
            Some(message) => message.map(str::to_owned),
        };
        if self.cancelation_requested {
            self.finish("cancelled", None, message.as_deref(), now);
            return Ok(true);
        }
        let work = self.work_mut();
        if release.counts && !work.has_attempts_left() {
            let given_up = r#"{"code":-32603,"message":"The work on this task did not succeed."}"#;
            let failure = release.failure.unwrap_or(given_up).to_owned();
            self.finish("failed", Some(("error", failure)), message.as_deref(), now);
            return Ok(true);
        }
        let wait = if release.counts { release.delay.max(work.backoff()) } else { release.delay };
        work.lease = None;
        work.continues = !release.counts;
        work.available = Some(now.plus(wait));
        let is_told = self.message != message;
        self.message = message;
        if is_told {
            self.touch(now);
        } else {
            self.revision += 1;
        }
        Ok(is_told)
    }

    /// `scheduled`, `ready`, `leased` or `parked`.
    pub fn work_state(&self) -> Option<&'static str> {
        let work = self.work.as_ref().filter(|work| work.is_fenced() && !self.is_terminal())?;
        Some(if work.holder().is_some() {
            "leased"
        } else if self.status == "input_required" {
            "parked"
        } else if self.due().is_some_and(|due| due.tick <= work.now.tick) {
            "ready"
        } else {
            "scheduled"
        })
    }
}
