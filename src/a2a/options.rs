//! The options of a state provider, and those of one save. A member that is absent or `null` has its default;
//! an unknown one is refused by name.

#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::sync::Arc;

use crate::error::{Error, Reason, Result, invalid};
use crate::json::{DEFAULT_MAXIMUM_PAYLOAD_BYTES, ObjectWriter};
use crate::options::{MAXIMUM_DURATION_MS, Object};
use crate::store::LogLimits;
use crate::text::{Text, to_shared};

const DEFAULT_NAME: &str = "default";
const DEFAULT_GRACE_PERIOD_MS: i64 = 15_000;

/// Row counts must fit the signed integers of SQL.
const MAXIMUM_COUNT: u64 = i64::MAX as u64;

const KNOWN: [&str; 9] = [
    "name",
    "gracePeriodMs",
    "maximumRetainedTasks",
    "finalizedRetentionMs",
    "activeRetentionMs",
    "maximumEventsPerTask",
    "maximumEventBytesPerTask",
    "announceSaves",
    "maximumPayloadBytes",
];

const KNOWN_OF_SAVES: [&str; 5] = ["expectedRevision", "isReplicated", "mustExist", "unlessFinal", "event"];

/// How a provider was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// Providers with the same name over one store share tasks.
    pub name: Box<str>,
    /// How long a task still counts as active after it became final.
    pub grace_period_ms: i64,
    /// Most tasks that are kept; `None` is no limit.
    pub maximum_retained_tasks: Option<u64>,
    /// How long a task is kept after it became final; 0 is for ever.
    pub finalized_retention_ms: i64,
    /// How long a task that is not final is kept after its last save; 0 is for ever.
    pub active_retention_ms: i64,
    /// How much a task's log of events keeps.
    pub log_limits: LogLimits,
    /// Whether the event queues also tell of every save.
    pub announce_saves: bool,
    /// Most bytes of one task.
    pub maximum_payload_bytes: u64,
}

impl Options {
    /// Reads the options text of `open`.
    pub fn parse(text: Option<&str>) -> Result<Self> {
        let given = Object::parse("options", text, &KNOWN, DEFAULT_MAXIMUM_PAYLOAD_BYTES)?;
        let name = given.name("name")?.unwrap_or(Cow::Borrowed(DEFAULT_NAME));
        let grace_period_ms = duration(&given, "gracePeriodMs")?.unwrap_or(DEFAULT_GRACE_PERIOD_MS);
        let limit = |key| -> Result<Option<u64>> {
            Ok(given.whole_number(key, 0..=MAXIMUM_COUNT)?.filter(|&limit| limit > 0))
        };
        let finalized_retention_ms = duration(&given, "finalizedRetentionMs")?.unwrap_or(0);
        let payload = given.whole_number("maximumPayloadBytes", 1..=MAXIMUM_COUNT)?;
        Ok(Self {
            name: name.into(),
            grace_period_ms,
            maximum_retained_tasks: limit("maximumRetainedTasks")?,
            finalized_retention_ms,
            active_retention_ms: duration(&given, "activeRetentionMs")?.unwrap_or(0),
            log_limits: LogLimits {
                events: limit("maximumEventsPerTask")?,
                bytes: limit("maximumEventBytesPerTask")?,
            },
            announce_saves: given.boolean("announceSaves")?.unwrap_or(false),
            maximum_payload_bytes: payload.unwrap_or(DEFAULT_MAXIMUM_PAYLOAD_BYTES),
        })
    }

    /// Every option with the value in force.
    pub fn to_json(&self) -> Text {
        let mut text = Text::with_capacity(256 + self.name.len());
        ObjectWriter::new(&mut text)
            .string("name", &self.name)
            .int("gracePeriodMs", self.grace_period_ms)
            .int("maximumRetainedTasks", self.maximum_retained_tasks.unwrap_or(0))
            .int("finalizedRetentionMs", self.finalized_retention_ms)
            .int("activeRetentionMs", self.active_retention_ms)
            .int("maximumEventsPerTask", self.log_limits.events.unwrap_or(0))
            .int("maximumEventBytesPerTask", self.log_limits.bytes.unwrap_or(0))
            .bool("announceSaves", self.announce_saves)
            .int("maximumPayloadBytes", self.maximum_payload_bytes);
        text
    }
}

fn duration(given: &Object<'_>, key: &str) -> Result<Option<i64>> {
    let ms = given.whole_number(key, 0..=MAXIMUM_DURATION_MS)?;
    Ok(ms.map(|ms| i64::try_from(ms).unwrap_or(i64::MAX)))
}

/// How one save is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SaveOptions {
    /// The revision that the task must have; 0 is "must not exist".
    pub expected_revision: Option<u64>,
    /// Whether another node made this change and announced it there.
    pub is_replicated: bool,
    /// Whether the task must be there.
    pub must_exist: bool,
    /// Whether a task that is final already is left alone.
    pub unless_final: bool,
    /// What goes into the task's log: JSON text.
    pub event: Option<Arc<str>>,
}

impl SaveOptions {
    /// Reads the options text of a save through a provider with `options`.
    pub fn parse(text: Option<&str>, options: &Options) -> Result<Self> {
        // Beside a large event there is room for the other members.
        let maximum_bytes = DEFAULT_MAXIMUM_PAYLOAD_BYTES.max(options.maximum_payload_bytes);
        let given = Object::parse("save_options", text, &KNOWN_OF_SAVES, maximum_bytes)?;
        let expected_revision = given.whole_number("expectedRevision", 0..=u64::MAX)?;
        let must_exist = given.boolean("mustExist")?.unwrap_or(false);
        if must_exist && expected_revision == Some(0) {
            return Err(invalid("mustExist", "a task cannot be required to exist and not to exist"));
        }
        Ok(Self {
            expected_revision,
            is_replicated: given.boolean("isReplicated")?.unwrap_or(false),
            must_exist,
            unless_final: given.boolean("unlessFinal")?.unwrap_or(false),
            event: event(&given, options)?,
        })
    }
}

/// The event of a save. Unlike the other members it cannot be null, which would be an event of its own.
fn event(given: &Object<'_>, options: &Options) -> Result<Option<Arc<str>>> {
    let Some(event) = given.get_or_null("event") else { return Ok(None) };
    if event.is_null() {
        return Err(invalid("event", "the event must not be null"));
    }
    let most = options.log_limits.bytes.unwrap_or(u64::MAX).min(options.maximum_payload_bytes);
    if event.text().len() as u64 > most {
        return Err(Error::new(Reason::PayloadTooLarge, "the event has more bytes than the limit")
            .with_key("event")
            .with_limit(most));
    }
    to_shared(event.text()).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Reason;

    #[test]
    fn defaults_stand_for_absent_and_null() {
        let defaults = Options::parse(None).expect("defaults");
        assert_eq!(
            defaults.to_json().as_str(),
            r#"{"name":"default","gracePeriodMs":15000,"maximumRetainedTasks":0,"finalizedRetentionMs":0,"activeRetentionMs":0,"maximumEventsPerTask":0,"maximumEventBytesPerTask":0,"announceSaves":false,"maximumPayloadBytes":10485760}"#
        );
        let nulls = format!("{{{}}}", KNOWN.map(|key| format!("\"{key}\":null")).join(","));
        for text in ["{}", &nulls] {
            assert_eq!(Options::parse(Some(text)).expect("defaults"), defaults);
        }
    }

    #[test]
    fn options_come_back_as_given() {
        for text in [
            r#"{"name":"","gracePeriodMs":0,"maximumRetainedTasks":0,"finalizedRetentionMs":0,"activeRetentionMs":0,"maximumEventsPerTask":0,"maximumEventBytesPerTask":0,"announceSaves":true,"maximumPayloadBytes":1}"#,
            r#"{"name":"a \"b\"","gracePeriodMs":9223372036854,"maximumRetainedTasks":9223372036854775807,"finalizedRetentionMs":9223372036854,"activeRetentionMs":9223372036854,"maximumEventsPerTask":9223372036854775807,"maximumEventBytesPerTask":5,"announceSaves":false,"maximumPayloadBytes":9223372036854775807}"#,
        ] {
            assert_eq!(Options::parse(Some(text)).expect("options").to_json().as_str(), text);
        }
    }

    #[test]
    fn bad_options_are_named() {
        let table = [
            (r#"{"grace":1}"#, Reason::UnknownKey, "grace", None),
            (r#"{"name":1}"#, Reason::InvalidValue, "name", None),
            (r#"{"name":"\u0000"}"#, Reason::EmbeddedNul, "name", None),
            (r#"{"gracePeriodMs":-1}"#, Reason::InvalidValue, "gracePeriodMs", Some(0)),
            (
                r#"{"gracePeriodMs":9223372036855}"#,
                Reason::InvalidValue,
                "gracePeriodMs",
                Some(9_223_372_036_854),
            ),
            (r#"{"finalizedRetentionMs":-1}"#, Reason::InvalidValue, "finalizedRetentionMs", Some(0)),
            (r#"{"activeRetentionMs":-1}"#, Reason::InvalidValue, "activeRetentionMs", Some(0)),
            (r#"{"maximumRetainedTasks":-1}"#, Reason::InvalidValue, "maximumRetainedTasks", Some(0)),
            (r#"{"maximumPayloadBytes":0}"#, Reason::InvalidValue, "maximumPayloadBytes", Some(1)),
        ];
        for (text, reason, key, limit) in table {
            let error = Options::parse(Some(text)).expect_err(text);
            assert_eq!((error.reason(), error.key()), (reason, Some(key)), "{text}");
            assert_eq!(error.limit(), limit, "{text}");
        }
        for text in [r#"{"gracePeriodMs":1.5}"#, r#"{"gracePeriodMs":"1"}"#, r#"{"gracePeriodMs":1e3}"#] {
            assert_eq!(Options::parse(Some(text)).expect_err(text).reason(), Reason::InvalidValue);
        }
    }

    #[test]
    fn save_options() {
        let options = Options::parse(Some(r#"{"maximumPayloadBytes":8,"maximumEventBytesPerTask":6}"#));
        let options = options.expect("options");
        let parse = |text| SaveOptions::parse(text, &options);
        let defaults = SaveOptions::default();
        assert_eq!(parse(None).expect("defaults"), defaults);
        let nulls = r#"{"expectedRevision":null,"isReplicated":null,"mustExist":null,"unlessFinal":null}"#;
        assert_eq!(parse(Some(nulls)).expect("options"), defaults);
        let given = r#"{"expectedRevision":0,"isReplicated":true,"unlessFinal":true,"event": {"a":1}}"#;
        let error = parse(Some(given)).expect_err("the event has 7 bytes");
        assert_eq!((error.reason(), error.key()), (Reason::PayloadTooLarge, Some("event")));
        let smaller = &given.replace(r#"{"a":1}"#, r#""\n""#);
        assert_eq!(
            parse(Some(smaller)).expect("options"),
            SaveOptions {
                expected_revision: Some(0),
                is_replicated: true,
                must_exist: false,
                unless_final: true,
                event: Some(r#""\n""#.into())
            }
        );
        for (text, reason, key) in [
            (r#"{"expectedRevision":-1}"#, Reason::InvalidValue, "expectedRevision"),
            (r#"{"expectedRevision":"1"}"#, Reason::InvalidValue, "expectedRevision"),
            (r#"{"isReplicated":1}"#, Reason::InvalidValue, "isReplicated"),
            (r#"{"mustExist":1}"#, Reason::InvalidValue, "mustExist"),
            (r#"{"mustExist":true,"expectedRevision":0}"#, Reason::InvalidValue, "mustExist"),
            (r#"{"unlessFinal":"yes"}"#, Reason::InvalidValue, "unlessFinal"),
            (r#"{"event":null}"#, Reason::InvalidValue, "event"),
            (r#"{"replicated":true}"#, Reason::UnknownKey, "replicated"),
        ] {
            let error = parse(Some(text)).expect_err(text);
            assert_eq!((error.reason(), error.key()), (reason, Some(key)), "{text}");
        }
    }
}
