//! The operators' listing: its parameters, its page token and its page. A token carries the place after which
//! to go on and a digest of the filters, so that it is refused under others; it names no row.

#![forbid(unsafe_code)]

use std::borrow::Cow;

use super::render;
use crate::error::{Error, Reason, Result, invalid};
use crate::json::{DEFAULT_MAXIMUM_PAYLOAD_BYTES, ObjectWriter};
use crate::options::Object;
use crate::store::{TaskQuery, TaskStatus, TaskTable};
use crate::text::Text;

pub(crate) const DEFAULT_PAGE_SIZE: u64 = 100;
pub(crate) const MAXIMUM_PAGE_SIZE: u64 = 1000;

/// What a listing shows, and from where on.
#[derive(Debug)]
struct Params<'a> {
    status: Option<TaskStatus>,
    endpoint: Option<Cow<'a, str>>,
    /// Whether only the tasks of `partition` are shown; no partition is the anonymous one.
    by_partition: bool,
    partition: Option<Cow<'a, str>>,
    page_size: usize,
    page_token: Option<Cow<'a, str>>,
    include_payload: bool,
}

impl<'a> Params<'a> {
    fn parse(text: Option<&'a str>) -> Result<Self> {
        let object = Object::parse(
            "params",
            text,
            &["status", "endpoint", "authorizationPartition", "pageSize", "pageToken", "includePayload"],
            DEFAULT_MAXIMUM_PAYLOAD_BYTES,
        )?;
        let status = object.string("status")?.map(|name| {
            TaskStatus::from_name(&name).ok_or_else(|| invalid("status", "no task has such a status"))
        });
        let page_size = object.whole_number("pageSize", 1..=MAXIMUM_PAGE_SIZE)?.unwrap_or(DEFAULT_PAGE_SIZE);
        Ok(Self {
            status: status.transpose()?,
            endpoint: object.name("endpoint")?,
            // Here null is a partition, the anonymous one, and not "not given".
            by_partition: object.get_or_null("authorizationPartition").is_some(),
            partition: object.name("authorizationPartition")?,
            page_size: usize::try_from(page_size).unwrap_or(usize::MAX),
            page_token: object.string("pageToken")?.filter(|token| !token.is_empty()),
            include_payload: object.boolean("includePayload")?.unwrap_or(false),
        })
    }

    /// A digest of the filters and of the table they are for, the same in every process.
    fn digest(&self, table_name: &str) -> u64 {
        let mut digest = Digest::new();
        digest.add(Some(table_name));
        digest.add(self.status.map(TaskStatus::name));
        digest.add(self.endpoint.as_deref());
        digest.add(self.by_partition.then_some(""));
        digest.add(self.partition.as_deref());
        digest.0
    }
}

/// FNV-1a over optional strings, each with its length.
struct Digest(u64);

impl Digest {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, part: Option<&str>) {
        let length = part.map_or(u64::MAX, |part| part.len() as u64);
        for byte in length.to_be_bytes().into_iter().chain(part.unwrap_or_default().bytes()) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

const TOKEN_VERSION: &str = "01";

fn page_token(after: u64, digest: u64) -> String {
    format!("{TOKEN_VERSION}{after:016x}{digest:016x}")
}

/// The place in a token that was given out under the same filters.
fn place_of(token: &str, digest: u64) -> Result<u64> {
    let place = token.get(2..18).and_then(|hex| u64::from_str_radix(hex, 16).ok());
    // Writing it again leaves one spelling of each token.
    place
        .filter(|&after| page_token(after, digest) == token)
        .ok_or_else(|| Error::new(Reason::InvalidPageToken, "the page token does not belong to this listing"))
}

/// One page of the table `name`, oldest first.
pub(super) fn list_tasks(table: &dyn TaskTable, name: &str, params: Option<&str>) -> Result<Text> {
    let params = Params::parse(params)?;
    let digest = params.digest(name);
    let query = TaskQuery {
        status: params.status,
        endpoint: params.endpoint.as_deref(),
        partition: params.by_partition.then_some(params.partition.as_deref()),
        after: params.page_token.as_ref().map_or(Ok(0), |token| place_of(token, digest))?,
        limit: params.page_size,
    };
    let mut text = Text::with_capacity(64);
    let mut page = ObjectWriter::new(&mut text);
    let mut corrupt = Vec::new();
    let mut records = page.array("records");
    let next = table.list(
        &query,
        &mut |row, _| render::push_record(records.value(), row, params.include_payload),
        &mut corrupt,
    )?;
    drop(records);
    page.array("corrupt").strings(&corrupt);
    page.plain_string("nextPageToken", &next.map(|after| page_token(after, digest)).unwrap_or_default());
    drop(page);
    Ok(text)
}

#[cfg(test)]
mod tests;
