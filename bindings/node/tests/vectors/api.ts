/**
 * Calls the package's methods. What cannot be said through them (NULL for a required argument, bytes for a name) is
 * `Inexpressible`, and is called raw on the same handle.
 */

import * as taskhold from 'taskhold';
import { dumps, isObject, parse, type Value, type Values } from './values.js';

/** The methods cannot say this. */
export class Inexpressible extends Error {}

/** A method, and what it is called with. */
export type Method = readonly [name: string, ...args: unknown[]];

function string(value: Value | undefined): string {
  if (typeof value !== 'string') throw new Inexpressible();
  return value;
}

function optional(value: Value | undefined): string | null {
  return value === undefined || value === null ? null : string(value);
}

/** A required payload: ready text, or a value to write. */
function payload(value: Value | undefined): unknown {
  if (value === undefined || value === null || value instanceof Uint8Array) throw new Inexpressible();
  return typeof value === 'string' ? new taskhold.Json(value) : value;
}

/** Options that may be absent. */
function options(value: Value | undefined): unknown {
  return value === undefined || value === null ? undefined : payload(value);
}

/** Options of which some members are arguments of their own. */
export function members(value: Value | undefined, own: readonly string[]): Values {
  if (value === undefined || value === null) return {};
  const object = typeof value === 'string' ? parsed(value) : value;
  if (!isObject(object) || own.some(name => Object.hasOwn(object, name))) throw new Inexpressible();
  return object;
}

function parsed(text: string): Value {
  let value: Value;
  try {
    value = parse(text);
  } catch {
    throw new Inexpressible();
  }
  // Spaces, the order of members, a member twice: only the text has them.
  if (dumps(value) !== text) throw new Inexpressible();
  return value;
}

/** A timeout as the methods take it. */
function wait(milliseconds: Value | undefined): taskhold.WaitOptions {
  return Number(milliseconds) === 0xffff_ffff ? {} : { timeoutMs: Number(milliseconds) };
}

function transition(name: string, payloadName?: string): (a: Values) => Method {
  return a => {
    const given = { ...members(a['options'], ['statusMessage']), statusMessage: optional(a['status_message']) };
    const id = string(a['task_id']);
    return payloadName === undefined ? [name, id, given] : [name, id, payload(a[payloadName]), given];
  };
}

const caller = (a: Values): [string, string | null] => [string(a['endpoint']), optional(a['partition'])];
const alone = (name: string) => (): Method => [name];
const ofId =
  (name: string) =>
  (a: Values): Method => [name, string(a['task_id'])];
const ofSession =
  (name: string) =>
  (a: Values): Method => [name, string(a['session_id'])];
const owned = (a: Values): [string | null, string] => [optional(a['owner']), string(a['task_id'])];

export const METHODS: Readonly<Record<string, (a: Values) => Method>> = {
  clock_advance: a => ['advance', a['ms']],
  clock_step_wall: a => ['stepWall', a['ms']],
  store_stats: alone('stats'),
  store_check: alone('check'),
  store_copy: a => ['copyTo', a['to']],
  manager_options: alone('options'),
  manager_create_task: a => ['createTask', payload(a['creation'])],
  manager_find_task: ofId('findTask'),
  manager_mark_task_working: transition('markTaskWorking'),
  manager_request_task_input: transition('requestTaskInput', 'input_requests'),
  manager_complete_task: transition('completeTask', 'result'),
  manager_fail_task: transition('failTask', 'failure'),
  manager_cancel_task: transition('cancelTask'),
  manager_take_task_input_responses: a => ['takeTaskInputResponses', string(a['task_id']), options(a['options'])],
  manager_is_task_cancelation_requested: ofId('isTaskCancelationRequested'),
  manager_wait_task: a => ['waitTask', string(a['task_id']), a['seen_revision'], wait(a['timeout_ms'])],
  manager_claim_task: a => ['claimTask', payload(a['claim']), wait(a['timeout_ms'])],
  manager_renew_leases: a => ['renewLeases', payload(a['renewals'])],
  manager_release_task: a => ['releaseTask', string(a['task_id']), payload(a['options'])],
  manager_list_tasks: a => ['listTasks', options(a['params'])],
  manager_find_authorized_task: a => ['findAuthorizedTask', ...caller(a), string(a['task_id'])],
  manager_update_task: a => [
    'updateTask',
    ...caller(a),
    string(a['task_id']),
    payload(a['input_responses']),
    options(a['options']),
  ],
  manager_request_task_cancelation: a => ['requestTaskCancelation', ...caller(a), string(a['task_id'])],
  manager_render_task: a => [
    'renderTask',
    ...caller(a),
    string(a['task_id']),
    Number(a['rendering']),
    options(a['options']),
  ],
  manager_handle_request: a => {
    const request = a['request'];
    if (request === undefined || request === null) throw new Inexpressible();
    return ['handleRequest', ...caller(a), request, options(a['client_capabilities'])];
  },
  manager_publish_task_changed: ofId('publishTaskChanged'),
  manager_open_events: a => ['openEvents', Number(a['capacity'])],
  events_next: a => ['next', wait(a['timeout_ms'])],
  session_store_options: alone('options'),
  session_store_create: a => ['create', string(a['endpoint']), options(a['creation'])],
  session_store_find_by_session_id: ofSession('findBySessionId'),
  session_store_find_authorized_session: a => ['findAuthorizedSession', ...caller(a), string(a['session_id'])],
  session_store_replace: a => ['replace', payload(a['expected']), payload(a['updated'])],
  session_store_delete_by_session_id: ofSession('deleteBySessionId'),
  session_store_pin: ofSession('pin'),
  session_store_unpin: ofSession('unpin'),
  session_store_list_sessions: a => ['listSessions', options(a['params'])],
  session_store_take_expired: alone('takeExpired'),
  state_provider_options: alone('options'),
  state_provider_save_task: a => ['saveTask', optional(a['owner']), payload(a['task']), options(a['save_options'])],
  state_provider_get_task: a => ['getTask', ...owned(a), options(a['params'])],
  state_provider_delete_task: a => ['deleteTask', ...owned(a)],
  state_provider_list_tasks: a => ['listTasks', optional(a['owner']), options(a['params'])],
  state_provider_is_task_active: ofId('isTaskActive'),
  state_provider_is_task_finalized: ofId('isTaskFinalized'),
  state_provider_task_liveness: ofId('taskLiveness'),
  state_provider_read_events: a => ['readEvents', string(a['task_id']), options(a['params'])],
  state_provider_wait_task: a => ['waitTask', string(a['task_id']), a['seen_revision'], wait(a['timeout_ms'])],
  state_provider_set_push_config: a => ['setPushConfig', ...owned(a), optional(a['config_id']), payload(a['config'])],
  state_provider_list_push_configs: a => ['listPushConfigs', ...owned(a), options(a['params'])],
  state_provider_delete_push_config: a => ['deletePushConfig', ...owned(a), optional(a['config_id'])],
  state_provider_open_events: a => ['openEvents', Number(a['capacity'])],
  clock_close: alone('close'),
  store_close: alone('close'),
  manager_close: alone('close'),
  events_close: alone('close'),
  session_store_close: alone('close'),
  state_provider_close: alone('close'),
};

/** What opens a system over a store. */
export const SYSTEMS: Readonly<Record<string, (store: taskhold.Store | null, given: Values) => Promise<unknown>>> = {
  manager_open: (store, given) => taskhold.TaskManager.open(store, given),
  session_store_open: (store, given) => taskhold.SessionStore.open(store, given),
  state_provider_open: (store, given) => taskhold.StateProvider.open(store, given),
};

/** The functions of the library itself. */
export const LIBRARY: Readonly<Record<string, (a: Values) => string | number | null>> = {
  abi_version: () => taskhold.abiVersion(),
  version: () => taskhold.version(),
  status_name: a => taskhold.statusName(Number(a['status'])),
  describe: () => taskhold.describeJson(),
  json_get: a => taskhold.jsonGet(string(a['json']), string(a['pointer'])),
};

const KINDS: readonly (readonly [{ [Symbol.hasInstance](value: unknown): boolean }, string])[] = [
  [taskhold.ManualClock, 'clock'],
  [taskhold.Store, 'store'],
  [taskhold.TaskManager, 'manager'],
  [taskhold.TaskEvents, 'events'],
  [taskhold.SessionStore, 'session_store'],
  [taskhold.StateProvider, 'state_provider'],
];

/** The kind of a handle by its object; undefined of what was opened raw. */
export function kindOfObject(handle: unknown): string | undefined {
  return KINDS.find(([type]) => type[Symbol.hasInstance](handle))?.[1];
}

/** The kind of handle that a function is called on. */
export function kindOf(call: string): string {
  const kinds = KINDS.map(([, kind]) => kind).filter(kind => call.startsWith(`${kind}_`));
  return kinds.sort((one, other) => other.length - one.length)[0] as string;
}
