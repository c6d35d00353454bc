//! The operators' listing: its parameters and its page.

#![forbid(unsafe_code)]

use std::borrow::Cow;

use super::{lapse, render};
use crate::error::{Result, invalid};
use crate::json::{DEFAULT_MAXIMUM_PAYLOAD_BYTES, ObjectWriter};
use crate::options::{DEFAULT_PAGE_SIZE, MAXIMUM_PAGE_SIZE, Object};
use crate::page_token::{self, Scope};
use crate::store::{TaskQuery, TaskStatus, TaskTable, WorkState};
use crate::text::Text;

/// What a listing shows, and from where on.
#[derive(Debug)]
struct Params<'a> {
    status: Option<TaskStatus>,
    endpoint: Option<Cow<'a, str>>,
    /// Whether only the tasks of `partition` are shown; no partition is the anonymous one.
    by_partition: bool,
    partition: Option<Cow<'a, str>>,
    queue: Option<Cow<'a, str>>,
    worker: Option<Cow<'a, str>>,
    work_state: Option<WorkState>,
    page_size: usize,
    page_token: Option<Cow<'a, str>>,
    include_payload: bool,
}

impl<'a> Params<'a> {
    fn parse(text: Option<&'a str>) -> Result<Self> {
        let object = Object::parse(
            "params",
            text,
            &[
                "status",
                "endpoint",
                "authorizationPartition",
                "queue",
                "worker",
                "workState",
                "pageSize",
                "pageToken",
                "includePayload",
            ],
            DEFAULT_MAXIMUM_PAYLOAD_BYTES,
        )?;
        let status = object.string("status")?.map(|name| {
            TaskStatus::from_name(&name).ok_or_else(|| invalid("status", "no task has such a status"))
        });
        let work_state = object.string("workState")?.map(|name| {
            WorkState::from_name(&name).ok_or_else(|| invalid("workState", "no work stands in such a state"))
        });
        let page_size = object.whole_number("pageSize", 1..=MAXIMUM_PAGE_SIZE)?.unwrap_or(DEFAULT_PAGE_SIZE);
        Ok(Self {
            status: status.transpose()?,
            endpoint: object.name("endpoint")?,
            // Here null is a partition, the anonymous one, and not "not given".
            by_partition: object.get_or_null("authorizationPartition").is_some(),
            partition: object.name("authorizationPartition")?,
            queue: object.name("queue")?,
            worker: object.name("worker")?,
            work_state: work_state.transpose()?,
            page_size: usize::try_from(page_size).unwrap_or(usize::MAX),
            page_token: object.string("pageToken")?.filter(|token| !token.is_empty()),
            include_payload: object.boolean("includePayload")?.unwrap_or(false),
        })
    }

    /// What the pages have in common, in the table `name`.
    fn scope(&self, name: &str) -> Scope {
        let scope = Scope::new("tasks")
            .with(Some(name))
            .with(self.status.map(TaskStatus::name))
            .with(self.endpoint.as_deref())
            .with(self.by_partition.then_some(""))
            .with(self.partition.as_deref());
        // A token of a listing without these filters is the same as before they came.
        let of_work = [self.queue.as_deref(), self.worker.as_deref(), self.work_state.map(WorkState::name)];
        if of_work.iter().all(Option::is_none) {
            return scope;
        }
        of_work.into_iter().fold(scope, Scope::with)
    }
}

/// One page of the table `name`, oldest first.
pub(super) fn list_tasks(table: &dyn TaskTable, name: &str, params: Option<&str>) -> Result<Text> {
    let params = Params::parse(params)?;
    let scope = params.scope(name);
    let query = TaskQuery {
        status: params.status,
        endpoint: params.endpoint.as_deref(),
        partition: params.by_partition.then_some(params.partition.as_deref()),
        queue: params.queue.as_deref(),
        worker: params.worker.as_deref(),
        work_state: params.work_state,
        after: params.page_token.as_ref().map_or(Ok(0), |token| page_token::decode_number(token, scope))?,
        limit: params.page_size,
    };
    let mut text = Text::with_capacity(64);
    let mut page = ObjectWriter::new(&mut text);
    let mut corrupt = Vec::new();
    let mut records = page.array("records");
    let next = table.list(
        &query,
        lapse::as_of,
        &mut |row, _| render::push_record(records.value(), row, params.include_payload),
        &mut corrupt,
    )?;
    drop(records);
    page.array("corrupt").strings(&corrupt);
    page.plain_string(
        "nextPageToken",
        &next.map(|after| page_token::encode_number(scope, after)).unwrap_or_default(),
    );
    drop(page);
    Ok(text)
}

#[cfg(test)]
mod tests;
