/**
 * Durable tasks for servers on the official SDK (`@modelcontextprotocol/server` 2.x): tools that run as tasks of a task
 * manager. A call becomes a task when the client declared the extension `io.modelcontextprotocol/tasks`, which exists since
 * version 2026-07-28 of the protocol; else it runs inline.
 *
 * @packageDocumentation
 */

import type {
  CallToolResult,
  InputRequiredResult,
  McpHttpHandler,
  McpServer,
  ServerContext,
  StandardSchemaV1,
  StandardSchemaWithJSON,
  ToolAnnotations,
} from '@modelcontextprotocol/server';
import { CapacityExhaustedError } from './errors.js';
import { TaskManager } from './manager.js';
import { listening } from './mcp/listen.js';
import { type Body, currentRun, type Host, Run, type ToolResult } from './mcp/run.js';
import {
  capabilities,
  checkName,
  declares,
  EXTENSION,
  INTERNAL_ERROR,
  missingExtension,
  principal,
  RpcError,
} from './mcp/wire.js';
import type { StoreLike } from './store.js';
import type { ManagerOptions, TaskRecord } from './types.js';
import { workerName } from './work.js';

export { Stopped } from './mcp/run.js';

/** How a tool runs as a task. */
export interface TaskPolicy {
  /** `required` refuses clients that did not declare tasks, with -32021; `optional`, the default, serves them inline. */
  taskSupport?: 'optional' | 'required';
  /**
   * `start`, the default, makes a task before the tool runs. With `tool` it runs in the foreground, where it may ask by
   * returning an `InputRequiredResult`, until it awaits {@link TasksExtension.detach}.
   */
  detach?: 'start' | 'tool';
}

/** What a tool is registered with: what the SDK's `registerTool` takes, and how it runs as a task. */
export interface TaskToolConfig<Input extends StandardSchemaWithJSON | undefined> extends TaskPolicy {
  title?: string;
  description?: string;
  inputSchema?: Input;
  outputSchema?: StandardSchemaWithJSON;
  annotations?: ToolAnnotations;
  _meta?: Record<string, unknown>;
}

type Given = CallToolResult | InputRequiredResult;

/** A tool's handler. In a task `ctx.mcpReq.signal` is aborted when the client asks for cancelation. */
export type TaskToolHandler<Input extends StandardSchemaWithJSON | undefined> = Input extends StandardSchemaWithJSON
  ? (args: StandardSchemaWithJSON.InferOutput<Input>, ctx: ServerContext) => Given | Promise<Given>
  : (ctx: ServerContext) => Given | Promise<Given>;

/** An `McpServer`, in what is needed of it. */
export type ToolServer = Pick<McpServer, 'registerTool'> & {
  server: Pick<McpServer['server'], 'setRequestHandler' | 'registerCapabilities' | 'assertCanSetRequestHandler'>;
};

/** Options of {@link TasksExtension}. */
export interface TasksOptions {
  /** Tells the tasks of several servers over one store apart; "/mcp". */
  endpoint?: string;
  /**
   * How long after the death of this process its tasks fail as abandoned; 30000, renewed at a third of it while the process
   * lives. null leaves them as they are until they expire.
   */
  leaseMs?: number | null;
  /**
   * Whose tasks a caller may see; the client, issuer and subject (`iss` and `sub` in `extra`) of its access token unless given.
   * Callers for whom it gives null share the anonymous partition, where only the random id protects a task.
   */
  owner?: typeof principal;
  /** Hears of failures that no client is told of; prints them unless given. */
  onError?: (what: string, error: unknown) => void;
}

/** A schema of the Standard Schema form that takes anything: the library judges parameters. */
const ANYTHING: StandardSchemaV1<unknown, Record<string, unknown>> = {
  '~standard': { version: 1, vendor: 'taskhold', validate: value => ({ value: value as Record<string, unknown> }) },
};

/** For tools that were told to stop, before their tasks fail all the same. */
const LAST_MS = 5_000;

type Handler = (request: { params: { name: string } }, ctx: ServerContext) => Promise<ToolResult>;

/**
 * The extension `io.modelcontextprotocol/tasks` over a task manager, for any number of servers.
 *
 * ```ts
 * const tasks = await TasksExtension.open('sqlite:tasks.db');
 * const handler = createMcpHandler(() => {
 *   const server = new McpServer({ name: 'example', version: '1' });
 *   const inputSchema = z.object({ seconds: z.number() });
 *   tasks.registerTaskTool(server, 'slow', { inputSchema }, async ({ seconds }, ctx) => {
 *     await setTimeout(seconds * 1000, undefined, { signal: ctx.mcpReq.signal });
 *     return { content: [{ type: 'text', text: 'done' }] };
 *   });
 *   return server;
 * });
 * export default { fetch: tasks.fetch(handler) };
 * ```
 */
export class TasksExtension implements AsyncDisposable {
  /** The manager of the tasks. */
  readonly manager: TaskManager;
  readonly #endpoint: string;
  readonly #owner: typeof principal;
  readonly #runs = new Set<Run>();
  readonly #policies = new WeakMap<object, Map<string, TaskPolicy>>();
  readonly #stopping = new AbortController();
  readonly #own: boolean;
  readonly #host: Host;

  /**
   * Makes the extension over a manager that is open, and stays so.
   *
   * @param manager keeps the tasks.
   * @param given options.
   */
  constructor(manager: TaskManager, given: TasksOptions = {}, own = false) {
    const { endpoint = '/mcp', leaseMs = 30_000, owner = principal } = given;
    const report = given.onError ?? ((what, error) => console.error(`taskhold: ${what}:`, error));
    this.manager = manager;
    this.#endpoint = endpoint;
    this.#owner = owner;
    this.#own = own;
    if (leaseMs !== null) manager._leases.prepare();
    this.#host = {
      manager,
      leaseMs,
      create: (ctx, tool, kinds) => this.#create(ctx, tool, kinds, leaseMs, report),
      begun: run => this.#runs.add(run),
      over: run => this.#runs.delete(run),
      report,
    };
  }

  /**
   * Opens a manager and makes the extension over it; {@link stop} closes it.
   *
   * @param where where the tasks live: a `Store`, its URL, or null for memory.
   * @param given options of the extension and of the manager.
   */
  static async open(where: StoreLike = null, given: TasksOptions & ManagerOptions = {}): Promise<TasksExtension> {
    const { endpoint, leaseMs, owner, onError, ...options } = given;
    const manager = await TaskManager.open(where, options);
    const own = Object.entries({ endpoint, leaseMs, owner, onError }).filter(([, value]) => value !== undefined);
    return new TasksExtension(manager, Object.fromEntries(own) as TasksOptions, true);
  }

  /**
   * Registers a tool that may run as a task. The first one of a server comes before its other tools, or {@link attach} does.
   *
   * @param server an `McpServer`.
   * @param name the tool's name.
   * @param config what the SDK's `registerTool` takes, and {@link TaskPolicy}.
   * @param handler as for the SDK. In a task, `ctx.mcpReq.elicitInput()`, `requestSampling()` and returning an
   *   `InputRequiredResult` ask the client through the task, `ctx.mcpReq.notify()` of progress sets its status message, and an
   *   error with a whole `code`, such as `ProtocolError`, fails it.
   * @returns what the SDK's `registerTool` does.
   */
  registerTaskTool<Input extends StandardSchemaWithJSON | undefined = undefined>(
    server: ToolServer,
    name: string,
    config: TaskToolConfig<Input>,
    handler: TaskToolHandler<Input>,
  ): ReturnType<McpServer['registerTool']> {
    const { taskSupport = 'optional', detach = 'start', ...rest } = config;
    this.attach(server);
    const call = handler as (...args: unknown[]) => unknown;
    const kept = async (...args: unknown[]): Promise<unknown> => {
      try {
        return await call(...args);
      } catch (error) {
        currentRun()?.threw(error);
        throw error;
      }
    };
    const register = server.registerTool.bind(server) as (...args: unknown[]) => ReturnType<McpServer['registerTool']>;
    // The SDK tells from a handler's place in the call, not from its length, whether there are arguments.
    const registered = register(name, rest, kept);
    this.#policies.get(server)?.set(name, { taskSupport, detach });
    return registered;
  }

  /**
   * Lets a server offer the extension. {@link registerTaskTool} does it by itself; a server whose first tools are none of tasks
   * needs it before them.
   *
   * @throws {Error} the server has tools already.
   */
  attach(server: ToolServer): void {
    if (this.#policies.has(server)) return;
    const low = server.server;
    try {
      low.assertCanSetRequestHandler('tools/call');
    } catch (cause) {
      throw new Error('attach the extension to a server before the first of its tools is registered', { cause });
    }
    this.#policies.set(server, new Map());
    low.registerCapabilities({ extensions: { [EXTENSION]: {} } });
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      low.setRequestHandler(method, { params: ANYTHING }, (params, ctx) => this.#handle(method, params, ctx));
    }
    // The SDK's handler of tool calls makes a result of each error: this stands before it, and is the only way there.
    const set = low.setRequestHandler.bind(low) as (method: string, ...rest: unknown[]) => void;
    low.setRequestHandler = ((method: string, ...rest: unknown[]): void => {
      if (method !== 'tools/call') {
        set(method, ...rest);
        return;
      }
      const handler = rest.at(-1) as Handler;
      set(method, ...rest.slice(0, -1), ((request, ctx) =>
        this.#call(server, handler, request, ctx)) satisfies Handler);
    }) as typeof low.setRequestHandler;
  }

  /**
   * Makes the call a task now: the client gets its handle, and the tool goes on in the background. Does nothing where the tool
   * runs inline or already is a task.
   */
  async detach(): Promise<void> {
    await currentRun()?.create();
  }

  /**
   * Serves HTTP as the SDK's handler does, and sends `notifications/tasks` on `subscriptions/listen`: the state of each task as
   * it changes, its last one always.
   *
   * @param handler from the SDK's `createMcpHandler`.
   */
  fetch(handler: Pick<McpHttpHandler, 'fetch'>): McpHttpHandler['fetch'] {
    return listening(handler, {
      manager: this.manager,
      endpoint: this.#endpoint,
      owner: this.#owner,
      stopping: this.#stopping.signal,
    });
  }

  /**
   * Stops the work of this process: tools are told to stop, and what is not done fails as stopped. For the end of a server. It
   * closes the manager, unless that was open before.
   */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const runs = [...this.#runs];
    for (const run of runs) run.stop('stopping');
    const until = Date.now() + LAST_MS;
    while (this.#runs.size > 0 && Date.now() < until) await new Promise(resolve => setTimeout(resolve, 10));
    for (const run of this.#runs) await run.abandon();
    if (this.#own) this.manager.close();
  }

  /** As {@link stop}. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Answers `tasks/get`, `tasks/update` and `tasks/cancel`. */
  async #handle(method: string, params: Record<string, unknown>, ctx: ServerContext): Promise<Record<string, unknown>> {
    checkName(ctx, params?.['taskId']);
    const { inputResponses } = ctx.mcpReq;
    // The SDK took the answers out of the parameters.
    const whole = method === 'tasks/update' && inputResponses !== undefined ? { ...params, inputResponses } : params;
    const request = { jsonrpc: '2.0', id: 0, method, params: whole };
    const owner = this.#owner(ctx.http?.authInfo);
    const response = await this.manager
      .handleRequest(this.#endpoint, owner, request, capabilities(ctx))
      .catch((error: unknown) => {
        this.#host.report(`${method} failed`, error);
        throw new RpcError(INTERNAL_ERROR, 'Internal error');
      });
    const error = response?.error;
    if (error !== undefined) throw new RpcError(error.code, error.message, error.data);
    return response?.result ?? {};
  }

  /** Runs a tool that may become a task. */
  async #call(
    server: ToolServer,
    handler: Handler,
    request: Parameters<Handler>[0],
    ctx: ServerContext,
  ): Promise<ToolResult> {
    const { name } = request.params;
    const policy = this.#policies.get(server)?.get(name);
    // The tool of a run that called this one is its client.
    if (policy === undefined || currentRun() !== undefined) return handler(request, ctx);
    if (!declares(capabilities(ctx))) {
      if (policy.taskSupport === 'required') throw missingExtension();
      return handler(request, ctx);
    }
    const body: Body = context => handler(request, context);
    const run = new Run(this.#host, ctx, name, body);
    if (policy.detach !== 'tool') await run.create();
    const work = run.start();
    // What becomes of the work of a task is in the store.
    work.catch(() => {});
    const result = await Promise.race([work, run.created]);
    if (run.record === null) return result as ToolResult;
    return { resultType: 'task', ...run.record.task } as unknown as ToolResult;
  }

  async #create(
    ctx: ServerContext,
    tool: string,
    kinds: string[],
    leaseMs: number | null,
    report: Host['report'],
  ): Promise<TaskRecord> {
    try {
      return await this.manager.createTask({
        endpoint: this.#endpoint,
        origin: { method: 'tools/call', name: tool },
        authorizationPartition: this.#owner(ctx.http?.authInfo),
        declaredInputRequests: kinds,
        lease: leaseMs === null ? null : { worker: workerName(), leaseMs },
      });
    } catch (error) {
      if (error instanceof CapacityExhaustedError) throw new RpcError(INTERNAL_ERROR, 'Too many tasks are retained');
      report('a task could not be created', error);
      throw new RpcError(INTERNAL_ERROR, 'Internal error');
    }
  }
}
