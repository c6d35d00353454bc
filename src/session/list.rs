//! The operators' listing of sessions: its parameters and its page.

#![forbid(unsafe_code)]

use std::borrow::Cow;

use crate::error::Result;
use crate::json::{DEFAULT_MAXIMUM_PAYLOAD_BYTES, ObjectWriter};
use crate::options::{DEFAULT_PAGE_SIZE, MAXIMUM_PAGE_SIZE, Object};
use crate::page_token::{self, Scope};
use crate::store::{SessionQuery, SessionTable};
use crate::text::Text;

const ENDPOINT: &str = "endpoint";
const AUTHORIZATION_PARTITION: &str = "authorizationPartition";
const PAGE_SIZE: &str = "pageSize";
const PAGE_TOKEN: &str = "pageToken";

/// What a listing shows, and from where on.
#[derive(Debug)]
struct Params<'a> {
    endpoint: Option<Cow<'a, str>>,
    /// Whether only the sessions of `partition` are shown; no partition is the anonymous one.
    by_partition: bool,
    partition: Option<Cow<'a, str>>,
    page_size: usize,
    page_token: Option<Cow<'a, str>>,
}

impl<'a> Params<'a> {
    fn parse(text: Option<&'a str>) -> Result<Self> {
        const KNOWN: &[&str] = &[ENDPOINT, AUTHORIZATION_PARTITION, PAGE_SIZE, PAGE_TOKEN];
        let object = Object::parse("params", text, KNOWN, DEFAULT_MAXIMUM_PAYLOAD_BYTES)?;
        let page_size = object.whole_number(PAGE_SIZE, 1..=MAXIMUM_PAGE_SIZE)?.unwrap_or(DEFAULT_PAGE_SIZE);
        Ok(Self {
            endpoint: object.name(ENDPOINT)?,
            // Here null is a partition, the anonymous one, and not "not given".
            by_partition: object.get_or_null(AUTHORIZATION_PARTITION).is_some(),
            partition: object.name(AUTHORIZATION_PARTITION)?,
            page_size: usize::try_from(page_size).unwrap_or(usize::MAX),
            page_token: object.string(PAGE_TOKEN)?.filter(|token| !token.is_empty()),
        })
    }

    /// What the pages have in common, in the table `name`.
    fn scope(&self, name: &str) -> Scope {
        Scope::new("sessions")
            .with(Some(name))
            .with(self.endpoint.as_deref())
            .with(self.by_partition.then_some(""))
            .with(self.partition.as_deref())
    }

    /// What is asked of the table whose listing has this scope.
    fn query(&self, scope: Scope) -> Result<SessionQuery<'_>> {
        let after = |token| page_token::decode_number(token, scope);
        Ok(SessionQuery {
            endpoint: self.endpoint.as_deref(),
            partition: self.by_partition.then_some(self.partition.as_deref()),
            after: self.page_token.as_deref().map_or(Ok(0), after)?,
            limit: self.page_size,
        })
    }
}

/// One page of the table `name`, oldest first.
pub(super) fn list_sessions(table: &dyn SessionTable, name: &str, params: Option<&str>) -> Result<Text> {
    let params = Params::parse(params)?;
    let scope = params.scope(name);
    let query = params.query(scope)?;
    let mut text = Text::with_capacity(64);
    let mut page = ObjectWriter::new(&mut text);
    let mut corrupt = Vec::new();
    let mut sessions = page.array("sessions");
    let next = table.list(&query, &mut |row| sessions.value().push_str(&row.snapshot), &mut corrupt)?;
    drop(sessions);
    page.array("corrupt").strings(&corrupt);
    let next = next.map(|after| page_token::encode_number(scope, after));
    page.plain_string("nextPageToken", &next.unwrap_or_default());
    drop(page);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Reason;

    fn parsed(text: &str) -> Params<'_> {
        Params::parse(Some(text)).unwrap()
    }

    #[test]
    fn parameters() {
        let defaults = Params::parse(None).unwrap();
        assert_eq!((defaults.page_size, defaults.by_partition), (100, false));
        assert!(defaults.endpoint.is_none() && defaults.page_token.is_none());
        assert!(parsed(r#"{"pageToken":""}"#).page_token.is_none(), "the first page");
        let partition = |text| {
            let params = parsed(text);
            let query = params.query(params.scope("default")).unwrap();
            query.partition.map(|partition| partition.map(str::to_owned))
        };
        assert_eq!(partition("{}"), None);
        assert_eq!(partition(r#"{"authorizationPartition":null}"#), Some(None));
        assert_eq!(partition(r#"{"authorizationPartition":""}"#), Some(Some(String::new())));
        for (text, reason, key, limit) in [
            (r#"{"pageSize":0}"#, Reason::InvalidValue, "pageSize", Some(1)),
            (r#"{"pageSize":1001}"#, Reason::InvalidValue, "pageSize", Some(1000)),
            (r#"{"pageSize":1.0}"#, Reason::InvalidValue, "pageSize", Some(1000)),
            (r#"{"endpoint":7}"#, Reason::InvalidValue, "endpoint", None),
            (r#"{"authorizationPartition":[]}"#, Reason::InvalidValue, "authorizationPartition", None),
            (r#"{"authorizationPartition":"\u0000"}"#, Reason::EmbeddedNul, "authorizationPartition", None),
            (r#"{"pageToken":3}"#, Reason::InvalidValue, "pageToken", None),
            (r#"{"status":"idle"}"#, Reason::UnknownKey, "status", None),
            ("[]", Reason::InvalidValue, "params", None),
        ] {
            let refused = Params::parse(Some(text)).unwrap_err();
            assert_eq!(
                (refused.reason(), refused.key(), refused.limit()),
                (reason, Some(key), limit),
                "{text}"
            );
        }
    }

    #[test]
    fn a_token_is_good_for_its_own_listing_alone() {
        let filters = [
            "{}",
            r#"{"endpoint":""}"#,
            r#"{"endpoint":"a"}"#,
            r#"{"authorizationPartition":null}"#,
            r#"{"authorizationPartition":""}"#,
            r#"{"authorizationPartition":"a"}"#,
        ];
        for (at, from) in filters.iter().enumerate() {
            let token = page_token::encode_number(parsed(from).scope("default"), 0xabc);
            for (other, to) in filters.iter().enumerate() {
                let number = page_token::decode_number(&token, parsed(to).scope("default"));
                assert_eq!(number.ok(), (at == other).then_some(0xabc), "{from} {to}");
            }
            assert!(page_token::decode_number(&token, parsed(from).scope("other")).is_err());
        }
        assert_eq!(parsed("{}").scope("default"), parsed(r#"{"pageSize":7}"#).scope("default"));
        let of_tasks = Scope::new("tasks").with(Some("default")).with(None).with(None).with(None);
        assert_ne!(parsed("{}").scope("default"), of_tasks);
    }
}
