//! The exports of MCP task managers, of subscriptions and of event queues.

use taskhold::ffi::*;

use super::*;

pub(super) fn worker() -> Vec<Export> {
    use Kind::{Manager, Store};
    vec![
        export!(taskhold_manager_open(
            store: maybe(Store),
            options: OPTIONS,
            out_manager: opened(Kind::Manager),
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_options(manager: on(Manager), out_options: OUT_TEXT, out_error: OPTIONAL_TEXT)),
        export!(taskhold_manager_close(manager: Role::Closed(Manager))),
        export!(taskhold_manager_create_task(
            manager: on(Manager),
            creation: members(|_| text(r#"{"endpoint":"/mcp","origin":1}"#)),
            out_record: OPTIONAL_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_find_task(
            manager: on(Manager),
            task_id: TASK_ID,
            out_record: OPTIONAL_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_mark_task_working(
            manager: on(Manager),
            task_id: TASK_ID,
            status_message: MESSAGE,
            options: OPTIONS,
            out_record: OPTIONAL_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_request_task_input(
            manager: on(Manager),
            task_id: TASK_ID,
            input_requests: payload(|_| text(r#"{"c":{"method":"roots/list"}}"#)),
            status_message: MESSAGE,
            options: OPTIONS,
            out_record: OPTIONAL_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_complete_task(
            manager: on(Manager),
            task_id: TASK_ID,
            result: payload(|_| text(r#"{"content":[]}"#)),
            status_message: MESSAGE,
            options: OPTIONS,
            out_record: OPTIONAL_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_fail_task(
            manager: on(Manager),
            task_id: TASK_ID,
            failure: payload(|_| text(r#"{"code":-32000,"message":"no"}"#)),
            status_message: MESSAGE,
            options: OPTIONS,
            out_record: OPTIONAL_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_cancel_task(
            manager: on(Manager),
            task_id: TASK_ID,
            status_message: MESSAGE,
            options: OPTIONS,
            out_record: OPTIONAL_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_take_task_input_responses(
            manager: on(Manager),
            task_id: TASK_ID,
            options: OPTIONS,
            out_responses: OUT_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_is_task_cancelation_requested(
            manager: on(Manager),
            task_id: TASK_ID,
            out_requested: OUT_INT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_wait_task(
            manager: on(Manager),
            task_id: TASK_ID,
            seen_revision: number(1, None),
            timeout_ms: number(0, None),
            out_record: OPTIONAL_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_list_tasks(
            manager: on(Manager),
            params: OPTIONS,
            out_page: OUT_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
    ]
}

pub(super) fn queue() -> Vec<Export> {
    use Kind::Manager;
    vec![
        export!(taskhold_manager_claim_task(
            manager: on(Manager),
            claim: own_members(|_| text(r#"{"worker":"w","queues":["none"],"leaseMs":1000}"#)),
            timeout_ms: number(0, None),
            out_record: OUT_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_renew_leases(
            manager: on(Manager),
            renewals: own_members(|_| text(r#"{"leaseMs":1000,"tasks":[{"taskId":"none","lease":1}]}"#)),
            out_outcome: OPTIONAL_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_release_task(
            manager: on(Manager),
            task_id: Role::Identifier { value: |fixture| fixture.held_task_id.clone(), optional: false },
            options: Role::Json {
                value: |_| text(r#"{"lease":1}"#),
                optional: true,
                json: Json::Members(DEFAULT_PAYLOAD_BYTES),
            },
            out_record: OPTIONAL_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
    ]
}

pub(super) fn protocol() -> Vec<Export> {
    use Kind::Manager;
    vec![
        export!(taskhold_manager_find_authorized_task(
            manager: on(Manager),
            endpoint: ENDPOINT,
            partition: ANYONE,
            task_id: TASK_ID,
            out_record: OPTIONAL_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_update_task(
            manager: on(Manager),
            endpoint: ENDPOINT,
            partition: ANYONE,
            task_id: TASK_ID,
            input_responses: payload(|_| text(r#"{"a":{"roots":[]}}"#)),
            options: OPTIONS,
            out_outcome: OPTIONAL_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_request_task_cancelation(
            manager: on(Manager),
            endpoint: ENDPOINT,
            partition: ANYONE,
            task_id: TASK_ID,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_render_task(
            manager: on(Manager),
            endpoint: ENDPOINT,
            partition: ANYONE,
            task_id: TASK_ID,
            rendering: number(2, Some(4)),
            options: OPTIONS,
            out_json: OUT_TEXT,
            out_revision: OPTIONAL_REVISION,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_handle_request(
            manager: on(Manager),
            endpoint: ENDPOINT,
            partition: ANYONE,
            client_capabilities: Role::Json {
                value: |_| text(r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#),
                optional: true,
                json: Json::Payload(DEFAULT_PAYLOAD_BYTES),
            },
            request: Role::Json {
                value: |fixture| {
                    let task_id = &fixture.task_id;
                    Some(format!(
                        r#"{{"jsonrpc":"2.0","id":1,"method":"tasks/cancel","params":{{"taskId":"{task_id}"}}}}"#
                    ))
                },
                optional: false,
                json: Json::Request,
            },
            out_response: OUT_TEXT,
            out_error: OPTIONAL_TEXT,
        )),
    ]
}

pub(super) fn publisher() -> Vec<Export> {
    use Kind::{Events, Manager, Subscription};
    vec![
        export!(taskhold_manager_publish_task_changed(
            manager: on(Manager),
            task_id: TASK_ID,
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_subscribe(
            manager: on(Manager),
            on_task_changed: Role::Callback,
            user_data: Role::UserData,
            release: Role::Release,
            out_subscription: opened(Kind::Subscription),
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_manager_open_events(
            manager: on(Manager),
            capacity: number(4, Some(0)),
            out_events: opened(Kind::Events),
            out_error: OPTIONAL_TEXT,
        )),
        export!(taskhold_subscription_close(subscription: Role::Closed(Subscription))),
        export!(taskhold_events_next(
            events: on(Events),
            timeout_ms: number(0, None),
            out_event: OUT_TEXT,
            out_error: OPTIONAL_TEXT,
        ) -> Answer::Status(TASKHOLD_TIMEOUT)),
        export!(taskhold_events_fd(events: on(Events), out_fd: OUT_INT, out_error: OPTIONAL_TEXT)),
        export!(taskhold_events_close(events: Role::Closed(Events))),
    ]
}
