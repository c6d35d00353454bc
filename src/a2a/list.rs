//! One page of an owner's tasks: its parameters and its text. The store gives the rows in order; they are
//! copied into the page as they come, cut by their spans.

#![forbid(unsafe_code)]

use std::borrow::Cow;

use super::cut::{self, View};
use super::owners::{self, Found};
use super::state;
use super::token::{Scope, Token, TokenPosition};
use crate::error::{Result, invalid};
use crate::json::{DEFAULT_MAXIMUM_PAYLOAD_BYTES, ObjectWriter};
use crate::options::{Object, check_identifier};
use crate::store::{A2aListed, A2aQuery, A2aTable};
use crate::text::Text;
use crate::time;

const DEFAULT_PAGE_SIZE: u64 = 50;
pub(crate) const MAXIMUM_PAGE_SIZE: u64 = 100;

/// Most messages of a history that can be asked for: the protocol counts them in 32 bits with a sign.
const MAXIMUM_HISTORY_LENGTH: u64 = i32::MAX as u64;

/// Room for a page beside its tasks.
const PAGE_FRAME_BYTES: usize = 256;

/// Room for a page is taken in advance up to this much, judged by its first task.
const MAXIMUM_PAGE_GUESS_BYTES: usize = 1 << 20;

const KNOWN: [&str; 9] = [
    "contextId",
    "status",
    "pageSize",
    "pageToken",
    "historyLength",
    "includeArtifacts",
    "statusTimestampAfter",
    "includeRevisions",
    "anyOwner",
];

/// Reads the `params` of `get_task`.
pub(crate) fn parse_get_params(text: Option<&str>) -> Result<View> {
    let given = Object::parse("params", text, &["historyLength"], DEFAULT_MAXIMUM_PAYLOAD_BYTES)?;
    Ok(View { history: history_length(&given)?, artifacts: true })
}

/// Whether anyone's tasks are meant, which takes no owner.
pub(crate) fn any_owner(given: &Object<'_>, owner: Option<&str>) -> Result<bool> {
    let any_owner = given.boolean("anyOwner")?.unwrap_or(false);
    if any_owner && owner.is_some() {
        return Err(invalid("anyOwner", "the owner must be NULL where anyone's tasks are meant"));
    }
    Ok(any_owner)
}

fn history_length(given: &Object<'_>) -> Result<Option<usize>> {
    let length = given.whole_number("historyLength", 0..=MAXIMUM_HISTORY_LENGTH)?;
    Ok(length.map(|length| usize::try_from(length).unwrap_or(usize::MAX)))
}

/// Which tasks a page shows, and how.
#[derive(Debug)]
pub(crate) struct ListParams<'a> {
    context_id: Option<Cow<'a, str>>,
    state: Option<&'static str>,
    status_timestamp_from_ms: Option<i64>,
    page_size: usize,
    /// Not empty.
    page_token: Option<Cow<'a, str>>,
    view: View,
    include_revisions: bool,
    any_owner: bool,
}

impl<'a> ListParams<'a> {
    /// Reads the `params` of a `list_tasks` for `owner`.
    pub fn parse(text: Option<&'a str>, owner: Option<&str>) -> Result<Self> {
        let given = Object::parse("params", text, &KNOWN, DEFAULT_MAXIMUM_PAYLOAD_BYTES)?;
        let any_owner = any_owner(&given, owner)?;
        let context_id = given.string("contextId")?;
        if let Some(id) = &context_id {
            check_identifier(id, "contextId")?;
        }
        let state = match given.string("status")? {
            Some(spelled) => Some(
                state::known(&spelled)
                    .ok_or_else(|| invalid("status", "the protocol has no such task state"))?,
            ),
            None => None,
        };
        let page_size = given.whole_number("pageSize", 1..=MAXIMUM_PAGE_SIZE)?.unwrap_or(DEFAULT_PAGE_SIZE);
        let page_token = given.string("pageToken")?.filter(|token| !token.is_empty());
        let history = history_length(&given)?.unwrap_or(0);
        let artifacts = given.boolean("includeArtifacts")?.unwrap_or(false);
        let status_timestamp_from_ms = match given.string("statusTimestampAfter")? {
            Some(timestamp) => Some(
                time::parse_timestamp(&timestamp).map_err(|error| error.with_key("statusTimestampAfter"))?,
            ),
            None => None,
        };
        Ok(Self {
            context_id,
            state,
            status_timestamp_from_ms,
            page_size: usize::try_from(page_size).unwrap_or(usize::MAX),
            page_token,
            view: View { history: Some(history), artifacts },
            include_revisions: given.boolean("includeRevisions")?.unwrap_or(false),
            any_owner,
        })
    }

    /// The page of `owner`'s tasks, or of anyone's, from `table`.
    pub fn page(&self, table: &dyn A2aTable, owner: Option<&str>) -> Result<Text> {
        let scope = Scope {
            owner,
            any_owner: self.any_owner,
            context_id: self.context_id.as_deref(),
            state: self.state,
            status_timestamp_from_ms: self.status_timestamp_from_ms,
        };
        let token = self.page_token.as_deref().map(|token| Token::decode(token, &scope)).transpose()?;
        let mut text = Text::with_capacity(PAGE_FRAME_BYTES);
        let mut page = ObjectWriter::new(&mut text);
        let mut tasks = page.array("tasks");
        let mut shown = Shown::default();
        let mut show = |owner: Option<&str>, row: A2aListed<'_>| {
            let pieces = cut::pieces(row, self.view);
            let text = tasks.value();
            if shown.returned == 0 {
                let rest = (pieces.len() + pieces.len() / 8 + 1).saturating_mul(self.page_size);
                text.reserve(PAGE_FRAME_BYTES + pieces.len() + rest.min(MAXIMUM_PAGE_GUESS_BYTES));
            }
            if self.any_owner {
                let mut element = ObjectWriter::new(text);
                element.string_or_null("owner", owner).int("revision", row.revision);
                pieces.push_to(element.value("task"));
            } else {
                pieces.push_to(text);
            }
            shown.returned += 1;
            if self.include_revisions {
                shown.revisions.push(row.revision);
            }
        };
        let query = A2aQuery {
            owner,
            context_id: scope.context_id,
            state: scope.state,
            status_timestamp_from_ms: scope.status_timestamp_from_ms,
            after: None,
            limit: self.page_size,
            count: token.is_none(),
        };
        let found = match &token {
            _ if self.any_owner => owners::list(table, &query, token.as_ref(), &mut show)?,
            Some(Token { position: TokenPosition::Within { position, .. }, .. }) => {
                let query = A2aQuery { after: Some(position), ..query };
                Found::of_one(owner, table.list(&query, &mut |row| show(owner, row))?)
            }
            _ => Found::of_one(owner, table.list(&query, &mut |row| show(owner, row))?),
        };
        drop(tasks);
        let total = token.map(|token| token.total).or(found.total).unwrap_or(0);
        let next = found.next.map(|position| Token { total, position }.encode(&scope));
        page.int("totalSize", total)
            .int("pageSize", shown.returned)
            .plain_string("nextPageToken", &next.unwrap_or_default());
        if self.include_revisions {
            page.array("revisions").ints(shown.revisions);
        }
        if !found.corrupt.is_empty() {
            page.array("corrupt").strings(&found.corrupt);
        }
        drop(page);
        Ok(text)
    }
}

/// What a page has so far.
#[derive(Default)]
struct Shown {
    returned: u32,
    revisions: Vec<u64>,
}
