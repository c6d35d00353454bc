//! Listing the tasks of all owners: owner after owner, each in the order of an owner's own listing.

#![forbid(unsafe_code)]

use std::ops::Bound;

use super::token::{Token, TokenPosition};
use crate::error::Result;
use crate::store::{A2aFound, A2aListed, A2aQuery, A2aTable};

/// Owners that are looked up at once.
const OWNERS_AT_ONCE: usize = 256;

/// What a listing found beside the tasks it showed.
#[derive(Default)]
pub(super) struct Found {
    /// How many tasks match, if that was asked.
    pub total: Option<u64>,
    /// Where to go on, if tasks are left.
    pub next: Option<TokenPosition>,
    /// Ids of tasks that cannot be read.
    pub corrupt: Vec<String>,
}

impl Found {
    /// The same of one owner's listing.
    pub fn of_one(owner: Option<&str>, found: A2aFound) -> Self {
        let next =
            found.next.map(|position| TokenPosition::Within { owner: owner.map(Into::into), position });
        Self { total: found.total, next, corrupt: found.corrupt }
    }
}

/// Shows a task and its owner.
pub(super) type Show<'a> = dyn FnMut(Option<&str>, A2aListed<'_>) + 'a;

/// A page of the tasks of all owners that match `query`, whose own owner and position do not count.
pub(super) fn list(
    table: &dyn A2aTable,
    query: &A2aQuery<'_>,
    token: Option<&Token>,
    show: &mut Show<'_>,
) -> Result<Found> {
    let mut found = Found::default();
    if query.count {
        found.total = Some(count(table, query)?);
    }
    let mut left = query.limit;
    let mut looked_at = Bound::Unbounded;
    if let Some(token) = token {
        let (TokenPosition::Within { owner, .. } | TokenPosition::Behind { owner }) = &token.position;
        looked_at = Bound::Excluded(owner.clone());
        if let TokenPosition::Within { owner, position } = &token.position {
            let query = A2aQuery { after: Some(position), ..*query };
            if list_owner(table, &query, owner.as_deref(), &mut left, &mut found, show)? {
                return Ok(found);
            }
        }
    }
    // Where the page became full, at the end of an owner's tasks.
    let mut full_behind = None;
    loop {
        let owners = table.owners(looked_at.as_ref().map(Option::as_deref), OWNERS_AT_ONCE)?;
        if owners.is_empty() {
            return Ok(found);
        }
        for owner in owners {
            let owner: Option<Box<str>> = owner.as_deref().map(Into::into);
            if left == 0 {
                if full_behind.is_none() {
                    full_behind = behind(looked_at.clone());
                }
                // Only a task that would be shown makes another page.
                let query = A2aQuery { owner: owner.as_deref(), limit: 1, count: false, ..*query };
                let mut is_more = false;
                let one = table.list(&query, &mut |_| is_more = true)?;
                if is_more || !one.corrupt.is_empty() {
                    found.next = full_behind;
                    return Ok(found);
                }
            } else if list_owner(table, query, owner.as_deref(), &mut left, &mut found, show)? {
                return Ok(found);
            }
            looked_at = Bound::Excluded(owner);
        }
    }
}

fn behind(looked_at: Bound<Option<Box<str>>>) -> Option<TokenPosition> {
    match looked_at {
        Bound::Included(owner) | Bound::Excluded(owner) => Some(TokenPosition::Behind { owner }),
        Bound::Unbounded => None,
    }
}

/// One owner's part of a page. Whether the page is full and more of the owner's tasks are left.
fn list_owner(
    table: &dyn A2aTable,
    query: &A2aQuery<'_>,
    owner: Option<&str>,
    left: &mut usize,
    found: &mut Found,
    show: &mut Show<'_>,
) -> Result<bool> {
    let query = A2aQuery { owner, limit: *left, count: false, ..*query };
    let mut shown = 0;
    let part = Found::of_one(
        owner,
        table.list(&query, &mut |row| {
            shown += 1;
            show(owner, row);
        })?,
    );
    *left = left.saturating_sub(shown + part.corrupt.len());
    found.corrupt.extend(part.corrupt);
    found.next = part.next;
    Ok(found.next.is_some())
}

/// How many tasks match over all owners.
fn count(table: &dyn A2aTable, query: &A2aQuery<'_>) -> Result<u64> {
    let (mut total, mut last_owner) = (0, Bound::Unbounded);
    loop {
        let owners = table.owners(last_owner.as_ref().map(Option::as_deref), OWNERS_AT_ONCE)?;
        for owner in &owners {
            let query = A2aQuery { owner: owner.as_deref(), limit: 0, ..*query };
            total += table.list(&query, &mut |_| ())?.total.unwrap_or(0);
        }
        let Some(last) = owners.last() else { return Ok(total) };
        last_owner = Bound::Excluded(last.clone());
    }
}
