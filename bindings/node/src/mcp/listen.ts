/**
 * `notifications/tasks` on `subscriptions/listen`. The SDK's handler has no hook for kinds of notifications that it does not
 * know: this stands before it, adds the tasks to its acknowledgement, and sends on the same stream.
 */

import type { McpHttpHandler } from '@modelcontextprotocol/server';
import { ClosedError, InvalidStateError, NotFoundError, TaskholdError } from '../errors.js';
import type { TaskManager } from '../manager.js';
import { type JsonObject, Rendering } from '../types.js';
import {
  CAPABILITIES,
  type Capabilities,
  declares,
  INVALID_PARAMS,
  missingExtension,
  type principal,
  RpcError,
} from './wire.js';

/** Tasks of one subscription. */
const MOST_TASKS = 1000;

/** Between comments that keep a stream open which the SDK has nothing to send on. */
const KEEP_ALIVE_MS = 15_000;

const ENDED = ['completed', 'failed', 'cancelled'];

/** Whose tasks are listened to. */
export interface Listening {
  readonly manager: TaskManager;
  readonly endpoint: string;
  readonly owner: typeof principal;
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal;
}

interface ListenRequest {
  id: string | number;
  params?: { _meta?: Record<string, unknown>; notifications?: { taskIds?: unknown } };
}

/** The SDK's `fetch`, with notifications about tasks. */
export function listening(handler: Pick<McpHttpHandler, 'fetch'>, tasks: Listening): McpHttpHandler['fetch'] {
  return async (request, options) => {
    if (request.headers.get('mcp-method') !== 'subscriptions/listen') return handler.fetch(request, options);
    const copy = options?.parsedBody === undefined ? request.clone() : undefined;
    // The SDK judges the request; what it refuses is refused.
    const response = await handler.fetch(request, options);
    const streams = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
    if (!streams || response.body === null) {
      await copy?.body?.cancel();
      return response;
    }
    const body = (copy === undefined ? options?.parsedBody : await copy.json()) as ListenRequest;
    const wanted = body.params?.notifications?.taskIds;
    if (wanted === undefined) return response;
    const declared = (body.params?._meta?.[CAPABILITIES] ?? {}) as Capabilities;
    try {
      const taskIds = checked(wanted, declared);
      const owner = tasks.owner(options?.authInfo);
      const honored = await visible(tasks, owner, taskIds);
      const subscription = new Subscription(tasks, owner, declared, body.id, honored);
      return new Response(subscription.stream(response.body, request.signal), response);
    } catch (error) {
      await response.body.cancel();
      if (!(error instanceof RpcError)) throw error;
      const { code, message, data } = error;
      const refusal = { code, message, ...(data === undefined ? {} : { data }) };
      return Response.json({ jsonrpc: '2.0', id: body.id, error: refusal }, { status: 400 });
    }
  };
}

function checked(wanted: unknown, declared: Capabilities): string[] {
  if (!declares(declared)) throw missingExtension();
  if (!Array.isArray(wanted) || !wanted.every(taskId => typeof taskId === 'string')) {
    throw new RpcError(INVALID_PARAMS, 'taskIds must be an array of strings');
  }
  if (wanted.length > MOST_TASKS) {
    throw new RpcError(INVALID_PARAMS, `taskIds must not name more than ${MOST_TASKS} tasks`);
  }
  return [...new Set(wanted as string[])];
}

/** The tasks that the caller may see; the others are left out without a word, as unknown ones are. */
async function visible(tasks: Listening, owner: string | null, taskIds: string[]): Promise<string[]> {
  const found: string[] = [];
  for (const taskId of taskIds) {
    try {
      if ((await tasks.manager.findAuthorizedTask(tasks.endpoint, owner, taskId)) !== null) found.push(taskId);
    } catch (error) {
      if (!(error instanceof TaskholdError) || error.reason === 'closed') throw error;
    }
  }
  return found;
}

/** A stream of events that the SDK's is joined with. */
class Subscription {
  readonly #ended = new AbortController();
  readonly #encoder = new TextEncoder();
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor(
    private readonly tasks: Listening,
    private readonly owner: string | null,
    private readonly declared: Capabilities,
    private readonly id: string | number,
    private readonly taskIds: readonly string[],
  ) {}

  stream(inner: ReadableStream<Uint8Array>, gone: AbortSignal): ReadableStream<Uint8Array> {
    const reader = inner.getReader();
    const end = (): void => this.#ended.abort();
    const signals = [gone, this.tasks.stopping];
    for (const signal of signals) signal.addEventListener('abort', end, { once: true });
    return new ReadableStream<Uint8Array>({
      start: controller => {
        this.#controller = controller;
        void this.#join(reader)
          .catch(() => {})
          .finally(() => {
            end();
            for (const signal of signals) signal.removeEventListener('abort', end);
            reader.cancel().catch(() => {});
            try {
              controller.close();
            } catch {
              // The client closed it.
            }
          });
      },
      cancel: end,
    });
  }

  async #join(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    const { signal } = this.#ended;
    const over = new Promise<undefined>(resolve => {
      signal.addEventListener('abort', () => resolve(undefined), { once: true });
    });
    let pending = '';
    let sending: Promise<unknown> | undefined;
    let alone = false;
    while (!signal.aborted) {
      const read = await Promise.race([reader.read(), over]);
      if (read === undefined || read.done) break;
      pending += decoder.decode(read.value, { stream: true });
      const frames = pending.split('\n\n');
      pending = frames.pop() ?? '';
      for (const frame of frames) {
        const message = messageOf(frame);
        if (sending === undefined && message?.method === 'notifications/subscriptions/acknowledged') {
          const filter = (message.params?.['notifications'] ?? {}) as JsonObject;
          // With nothing else to tell, the SDK ends the stream at once: it stays until the last task has ended.
          alone = Object.keys(filter).length === 0;
          const params = { ...message.params, notifications: { ...filter, taskIds: this.taskIds } };
          this.#write({ ...message, params });
          sending = Promise.all(this.taskIds.map(taskId => this.#follow(taskId)));
        } else if (alone && message?.result !== undefined) {
          const comment = setInterval(() => this.#frame(': keepalive'), KEEP_ALIVE_MS);
          await Promise.race([sending, over]);
          clearInterval(comment);
          this.#frame(frame);
        } else {
          this.#frame(frame);
        }
      }
    }
  }

  /** Sends the task now and after each change, until it ends or expires. */
  async #follow(taskId: string): Promise<void> {
    const { manager, endpoint } = this.tasks;
    const { signal } = this.#ended;
    const options = { clientCapabilities: this.declared, subscriptionId: this.id };
    let revision = 0;
    try {
      for (;;) {
        try {
          // Text and revision are of one moment, so the change that comes after it is the next one sent.
          const shown = await manager.renderTask(endpoint, this.owner, taskId, Rendering.NOTIFICATION, options);
          revision = shown.revision;
          this.#write(shown.value);
          if (ENDED.includes((shown.value['params'] as { status: string }).status)) return;
        } catch (error) {
          if (!(error instanceof InvalidStateError)) throw error;
          // It asks for what this client cannot answer: the next change may be for it again.
          revision = (await manager.waitTask(taskId, 0, { signal })).revision;
        }
        await manager.waitTask(taskId, revision, { signal });
      }
    } catch (error) {
      if (signal.aborted || error instanceof NotFoundError || error instanceof ClosedError) return;
      throw error;
    }
  }

  #write(message: object): void {
    this.#frame(`event: message\ndata: ${JSON.stringify(message)}`);
  }

  #frame(frame: string): void {
    try {
      this.#controller?.enqueue(this.#encoder.encode(`${frame}\n\n`));
    } catch {
      // The client closed it.
    }
  }
}

interface Message {
  method?: string;
  params?: JsonObject;
  result?: unknown;
}

/** The message in a frame of a stream of events; undefined in a comment. */
function messageOf(frame: string): Message | undefined {
  const data = /^data: (.*)$/m.exec(frame)?.[1];
  return data === undefined ? undefined : (JSON.parse(data) as Message);
}
