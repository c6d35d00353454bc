//! The exports of MCP session stores and of A2A state providers.

use taskhold::ffi::*;

use super::*;

pub(super) fn sessions() -> Vec<Export> {
    use Kind::{SessionStore, Store};
    let session = |value| Role::Json { value, optional: false, json: Json::Payload(DEFAULT_PAYLOAD_BYTES) };
    vec![
        export!(taskhold_session_store_open(
            store: maybe(Store),
            options: OPTIONS,
            out_sessions: opened(Kind::SessionStore),
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_session_store_options(
            sessions: on(SessionStore),
            out_options: OUT_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_session_store_close(sessions: Role::Closed(SessionStore))),
        export!(taskhold_session_store_create(
            sessions: on(SessionStore),
            endpoint: ENDPOINT,
            creation: OPTIONS,
            out_session: OPTIONAL_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_session_store_find_by_session_id(
            sessions: on(SessionStore),
            session_id: THE_SESSION,
            out_session: OPTIONAL_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_session_store_find_authorized_session(
            sessions: on(SessionStore),
            endpoint: ENDPOINT,
            partition: ANYONE,
            session_id: THE_SESSION,
            out_session: OPTIONAL_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_session_store_replace(
            sessions: on(SessionStore),
            expected: session(|fixture| Some(fixture.session.clone())),
            updated: session(|fixture| Some(fixture.next_session())),
            out_replaced: OUT_INT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_session_store_delete_by_session_id(
            sessions: on(SessionStore),
            session_id: THE_SESSION,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_session_store_pin(
            sessions: on(SessionStore),
            session_id: THE_SESSION,
            out_pinned: OUT_INT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_session_store_unpin(
            sessions: on(SessionStore),
            session_id: THE_SESSION,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_session_store_list_sessions(
            sessions: on(SessionStore),
            params: OPTIONS,
            out_page: OUT_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_session_store_take_expired(
            sessions: on(SessionStore),
            out_sessions: OUT_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
    ]
}

pub(super) fn providers() -> Vec<Export> {
    use Kind::{StateProvider, Store};
    vec![
        export!(taskhold_state_provider_open(
            store: maybe(Store),
            options: OPTIONS,
            out_provider: opened(Kind::StateProvider),
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_state_provider_options(
            provider: on(StateProvider),
            out_options: OUT_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_state_provider_close(provider: Role::Closed(StateProvider))),
        export!(taskhold_state_provider_save_task(
            provider: on(StateProvider),
            owner: ANYONE,
            task: payload(|_| text(r#"{"id":"another","status":{"state":"working"}}"#)),
            save_options: OPTIONS,
            out_revision: OPTIONAL_REVISION,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_state_provider_get_task(
            provider: on(StateProvider),
            owner: ANYONE,
            task_id: A2A_TASK,
            params: OPTIONS,
            out_task: OPTIONAL_TEXT,
            out_revision: OPTIONAL_REVISION,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_state_provider_delete_task(
            provider: on(StateProvider),
            owner: ANYONE,
            task_id: A2A_TASK,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_state_provider_list_tasks(
            provider: on(StateProvider),
            owner: ANYONE,
            params: OPTIONS,
            out_result: OUT_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_state_provider_is_task_active(
            provider: on(StateProvider),
            task_id: A2A_TASK,
            out_active: OUT_INT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_state_provider_is_task_finalized(
            provider: on(StateProvider),
            task_id: A2A_TASK,
            out_finalized: OUT_INT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_state_provider_task_liveness(
            provider: on(StateProvider),
            task_id: A2A_TASK,
            out_liveness: OUT_INT,
            out_error: OPTIONAL_TEXT,
        )),
    ]
}

/// What happens to A2A tasks over time, and who is told.
pub(super) fn provider_events() -> Vec<Export> {
    use Kind::StateProvider;
    vec![
        export!(taskhold_state_provider_open_events(
            provider: on(StateProvider),
            capacity: number(4, Some(0)),
            out_events: opened(Kind::Events),
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_state_provider_read_events(
            provider: on(StateProvider),
            task_id: A2A_TASK,
            params: OPTIONS,
            out_events: OUT_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_state_provider_wait_task(
            provider: on(StateProvider),
            task_id: A2A_TASK,
            seen_revision: number(0, None),
            timeout_ms: number(0, None),
            out_revision: OPTIONAL_REVISION,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_state_provider_set_push_config(
            provider: on(StateProvider),
            owner: ANYONE,
            task_id: A2A_TASK,
            config_id: CONFIG_ID,
            config: payload(|_| text(r#"{"url":"https://example.com/hook"}"#)),
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_state_provider_list_push_configs(
            provider: on(StateProvider),
            owner: ANYONE,
            task_id: A2A_TASK,
            params: OPTIONS,
            out_configs: OUT_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_state_provider_delete_push_config(
            provider: on(StateProvider),
            owner: ANYONE,
            task_id: A2A_TASK,
            config_id: CONFIG_ID,
            out_error: OPTIONAL_TEXT,
        )),
    ]
}
