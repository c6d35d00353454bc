//! The exports of the library itself, of clocks and of stores.

use taskhold::ffi::*;

use super::*;

pub(super) fn library() -> Vec<Export> {
    vec![
        export!(taskhold_abi_version() -> Answer::Plain),
        export!(taskhold_version() -> Answer::Plain),
        export!(taskhold_status_name(status: number(0, None)) -> Answer::Plain),
        export!(taskhold_describe(out_json: OUT_TEXT, out_error: OPTIONAL_TEXT)),
        export!(taskhold_string_free(string: Role::Owned) -> Answer::Plain),
        export!(taskhold_json_get(
            json: Role::Json {
                value: |_| text(r#"{"a":["b"]}"#),
                optional: false,
                json: Json::GivenOut,
            },
            pointer: Role::Text { value: Some("/a/0"), optional: false },
            out_value: OUT_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
    ]
}

pub(super) fn places() -> Vec<Export> {
    use Kind::{Clock, Store};
    vec![
        export!(taskhold_clock_open_manual(
            epoch_ms: number(0, Some(u64::MAX / 2)),
            out_clock: opened(Kind::Clock),
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_clock_advance(clock: on(Clock), ms: number(1, Some(u64::MAX)), out_error: OPTIONAL_TEXT)),
        export!(taskhold_clock_step_wall(
            clock: on(Clock),
            ms: number(u64::MAX, Some(u64::MAX / 2)),
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_clock_close(clock: Role::Closed(Clock))),
        export!(taskhold_store_open(
            url: Role::Text { value: Some("memory:"), optional: true },
            options: OPTIONS,
            clock: maybe(Clock),
            out_store: opened(Kind::Store),
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_store_stats(store: on(Store), out_json: OUT_TEXT, out_error: OPTIONAL_TEXT)),
        export!(taskhold_store_check(store: on(Store), out_json: OUT_TEXT, out_error: OPTIONAL_TEXT)),
        // There is one store here, which cannot be copied to itself.
        export!(taskhold_store_copy(
            store: on(Store),
            to: on(Store),
            options: OPTIONS,
            out_json: OUT_TEXT,
            out_error: OPTIONAL_TEXT,
        ) -> Answer::Status(TASKHOLD_INVALID_ARGUMENT)),
        export!(taskhold_store_close(store: Role::Closed(Store))),
    ]
}
