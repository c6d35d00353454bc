/** The protocol's side of a task manager: what clients ask, by their endpoint and authorization partition. */

import { Handle } from './handle.js';
import { int32, optionalText, options, text, write, writeOptional } from './json.js';
import type { Argument } from './native.js';
import type {
  Conditions,
  JsonObject,
  ObjectPayload,
  Rendering,
  RenderOptions,
  Revisioned,
  TaskRecord,
  UpdateOutcome,
} from './types.js';

/** JSON for the library, checked for what would not survive the crossing. */
export function payload(value: unknown): string {
  return text(write(value));
}

/** A whole JSON-RPC response. */
export interface JsonRpcResponse {
  jsonrpc: '2.0';
  id: string | number | null;
  result?: JsonObject;
  error?: { code: number; message: string; data?: unknown };
}

/**
 * The calls for protocol requests. They check the caller's endpoint and authorization partition (null is the anonymous
 * one): unknown, foreign and expired tasks are one answer.
 */
export abstract class ProtocolCalls extends Handle {
  /**
   * Finds a task that the caller may see.
   *
   * Source: `taskhold_manager_find_authorized_task`.
   *
   * @returns the record, of which only `task` may reach the client, or null.
   * @throws {InvalidArgumentError} an argument is malformed.
   */
  async findAuthorizedTask(endpoint: string, partition: string | null, taskId: string): Promise<TaskRecord | null> {
    return JSON.parse((await this.findAuthorizedTaskJson(endpoint, partition, taskId)) ?? 'null') as TaskRecord | null;
  }

  /** As {@link findAuthorizedTask}; gives the text. */
  async findAuthorizedTaskJson(endpoint: string, partition: string | null, taskId: string): Promise<string | null> {
    const args = [text(endpoint), optionalText(partition), text(taskId)];
    return (await this._call('manager_find_authorized_task', ...args)).text;
  }

  /**
   * Accepts a client's answers to input requests. One that is unknown, answered, superseded or of another shape is ignored
   * without a trace. The last outstanding answer makes the task working again.
   *
   * Source: `taskhold_manager_update_task`.
   *
   * @param inputResponses answers by the keys of their requests.
   * @returns which counted; for the host, not for the client.
   * @throws {NotFoundError} unknown, expired, or not the caller's.
   * @throws {InvalidArgumentError} an argument is malformed.
   * @throws {ConflictError} the revision is another.
   * @throws {LimitExceededError} the answers are too large or too deep.
   */
  async updateTask(
    endpoint: string,
    partition: string | null,
    taskId: string,
    inputResponses: ObjectPayload,
    conditions?: Conditions,
  ): Promise<UpdateOutcome> {
    return JSON.parse(
      await this.updateTaskJson(endpoint, partition, taskId, inputResponses, conditions),
    ) as UpdateOutcome;
  }

  /** As {@link updateTask}; gives the text. */
  async updateTaskJson(
    endpoint: string,
    partition: string | null,
    taskId: string,
    inputResponses: ObjectPayload,
    conditions?: Conditions,
  ): Promise<string> {
    const caller = [text(endpoint), optionalText(partition), text(taskId)];
    return this._text('manager_update_task', ...caller, payload(inputResponses), options(conditions));
  }

  /**
   * Records that a client asks for the cancelation of a task. The status does not change: the worker decides. Queued work
   * that nobody holds ends as cancelled. Asking again, or for a task that has ended, changes nothing.
   *
   * Source: `taskhold_manager_request_task_cancelation`.
   *
   * @throws {NotFoundError} unknown, expired, or not the caller's.
   * @throws {InvalidArgumentError} an argument is malformed.
   */
  async requestTaskCancelation(endpoint: string, partition: string | null, taskId: string): Promise<void> {
    await this._call('manager_request_task_cancelation', text(endpoint), optionalText(partition), text(taskId));
  }

  /**
   * Renders a task as a client gets it, with the revision that this shows, both from one reading.
   *
   * Source: `taskhold_manager_render_task`.
   *
   * @param rendering one of {@link Rendering}.
   * @param given `clientCapabilities`, checked as in a request; `subscriptionId`, which goes into a notification.
   * @throws {NotFoundError} unknown, expired, or not the caller's.
   * @throws {InvalidStateError} `undeliverable`: it asks what was not declared, or what this client cannot answer.
   * @throws {InvalidArgumentError} an argument is malformed.
   */
  async renderTask(
    endpoint: string,
    partition: string | null,
    taskId: string,
    rendering: Rendering,
    given?: RenderOptions,
  ): Promise<Revisioned<JsonObject>> {
    const { value, revision } = await this.renderTaskJson(endpoint, partition, taskId, rendering, given);
    return { value: JSON.parse(value) as JsonObject, revision };
  }

  /** As {@link renderTask}; gives the text. */
  async renderTaskJson(
    endpoint: string,
    partition: string | null,
    taskId: string,
    rendering: Rendering,
    given?: RenderOptions,
  ): Promise<Revisioned<string>> {
    const args = [text(endpoint), optionalText(partition), text(taskId), int32(rendering, 'rendering'), options(given)];
    const answer = await this._call('manager_render_task', ...args);
    return { value: answer.text as string, revision: Number(answer.value) };
  }

  /**
   * Answers one JSON-RPC request of the extension: `tasks/get`, `tasks/update` or `tasks/cancel`. Whatever the request is,
   * the answer is a whole response.
   *
   * Source: `taskhold_manager_handle_request`.
   *
   * @param request an object, or the text or bytes as they came.
   * @param clientCapabilities what the client declared; absent or null takes them from the request's `_meta`.
   * @returns the response, or null for a notification, which executes nothing.
   * @throws {UnavailableError} the storage failed; the error's `response` is ready to be sent.
   * @throws {InvalidArgumentError} an argument around the request is malformed.
   */
  async handleRequest(
    endpoint: string,
    partition: string | null,
    request: object | string | Uint8Array,
    clientCapabilities?: ObjectPayload | null,
  ): Promise<JsonRpcResponse | null> {
    const response = await this.handleRequestJson(endpoint, partition, request, clientCapabilities);
    return JSON.parse(response ?? 'null') as JsonRpcResponse | null;
  }

  /** As {@link handleRequest}; gives the text, with the request's id byte for byte. */
  async handleRequestJson(
    endpoint: string,
    partition: string | null,
    request: object | string | Uint8Array,
    clientCapabilities?: ObjectPayload | null,
  ): Promise<string | null> {
    const capabilities = writeOptional(clientCapabilities);
    const args = [text(endpoint), optionalText(partition), capabilities, asCame(request)];
    return (await this._call('manager_handle_request', ...args)).text;
  }
}

/** A request as it came: bytes that are no UTF-8 are the library's to refuse. */
function asCame(request: object | string | Uint8Array): Argument {
  if (request instanceof Uint8Array) {
    if (request.includes(0)) return text('\0');
    return Buffer.concat([request, Buffer.alloc(1)]);
  }
  return text(typeof request === 'string' ? request : write(request));
}
