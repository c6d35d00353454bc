/**
 * A durable task store for servers on the earlier official SDK (`@modelcontextprotocol/sdk` 1.x), in the place of its
 * `InMemoryTaskStore`.
 *
 * @packageDocumentation
 */

import { randomUUID } from 'node:crypto';
import type { CreateTaskOptions, TaskStore } from '@modelcontextprotocol/sdk/experimental/tasks';
import type { Request, RequestId, Result, Task } from '@modelcontextprotocol/sdk/types.js';
import { TaskManager } from './manager.js';
import type { StoreLike } from './store.js';
import type { Failure, ManagerOptions, TaskRecord } from './types.js';

/** Tasks of one page of a listing. */
const PAGE_SIZE = 50;

/** What stands for a failure that came with a result. */
const FAILED = { code: -32603, message: 'The task failed' };

/** Options of {@link DurableTaskStore}. */
export interface DurableTaskStoreOptions {
  /** Tells the tasks of several servers over one store apart; "/mcp". */
  endpoint?: string;
  /**
   * Whether a task belongs to the session that created it, as in the SDK's own store; true. A session ends with its server: over a
   * file, false lets a client find its tasks again after a restart, and the random id alone protects a task.
   */
  bindToSession?: boolean;
}

/** What is kept of the creation of a task. */
interface Origin {
  requestId: RequestId;
  request: Request;
  pollInterval: number | null;
}

/**
 * The SDK's `TaskStore` over a task manager.
 *
 * ```ts
 * const taskStore = await DurableTaskStore.open('sqlite:tasks.db');
 * const server = new McpServer({ name: 'example', version: '1' }, { capabilities, taskStore });
 * ```
 *
 * As in the SDK's store, a task that has ended does not change. Other than there, the time to live counts from the creation of a
 * task, and one that no client asked for is the manager's.
 */
export class DurableTaskStore implements TaskStore, AsyncDisposable {
  /** The manager of the tasks. */
  readonly manager: TaskManager;
  readonly #endpoint: string;
  readonly #bound: boolean;

  /**
   * Makes the store over a manager that is open.
   *
   * @param manager keeps the tasks.
   */
  constructor(manager: TaskManager, { endpoint = '/mcp', bindToSession = true }: DurableTaskStoreOptions = {}) {
    this.manager = manager;
    this.#endpoint = endpoint;
    this.#bound = bindToSession;
  }

  /**
   * Opens a manager and makes the store over it.
   *
   * @param where where the tasks live: a `Store`, its URL, or null for memory.
   * @param given options of the store and of the manager.
   */
  static async open(
    where: StoreLike = null,
    given: DurableTaskStoreOptions & ManagerOptions = {},
  ): Promise<DurableTaskStore> {
    const { endpoint = '/mcp', bindToSession = true, ...options } = given;
    return new DurableTaskStore(await TaskManager.open(where, options), { endpoint, bindToSession });
  }

  /** Closes the manager. */
  close(): void {
    this.manager.close();
  }

  /** As {@link close}. */
  [Symbol.asyncDispose](): Promise<void> {
    this.close();
    return Promise.resolve();
  }

  /** Creates a task. */
  async createTask(
    taskParams: CreateTaskOptions,
    requestId: RequestId,
    request: Request,
    sessionId?: string,
  ): Promise<Task> {
    const origin: Origin = { requestId, request, pollInterval: taskParams.pollInterval ?? null };
    const record = await this.manager.createTask({
      endpoint: this.#endpoint,
      authorizationPartition: this.#partition(sessionId) ?? null,
      origin,
      taskTimeToLiveMs: taskParams.ttl ?? null,
    });
    return shown(record);
  }

  /** Finds a task; null for an unknown, an expired and another session's. */
  async getTask(taskId: string, sessionId?: string): Promise<Task | null> {
    const record = await this.#find(taskId, sessionId);
    return record === null ? null : shown(record);
  }

  /** Ends a task with its result. */
  async storeTaskResult(
    taskId: string,
    status: 'completed' | 'failed',
    result: Result,
    sessionId?: string,
  ): Promise<void> {
    const { task } = await this.#found(taskId, sessionId);
    const options = { statusMessage: task.statusMessage ?? null };
    if (status === 'completed') await this.manager.completeTask(taskId, result, options);
    else await this.manager.failTask(taskId, { ...FAILED, data: { result } }, options);
  }

  /** The result that a task ended with. */
  async getTaskResult(taskId: string, sessionId?: string): Promise<Result> {
    const { task } = await this.#found(taskId, sessionId);
    const result = task.result ?? resultOf(task.error);
    if (result === undefined) throw new Error(`Task ${taskId} has no result stored`);
    return result;
  }

  /** Moves a task to another status; without a message the former one stays. */
  async updateTaskStatus(
    taskId: string,
    status: Task['status'],
    statusMessage?: string,
    sessionId?: string,
  ): Promise<void> {
    const { task } = await this.#found(taskId, sessionId);
    const options = { statusMessage: statusMessage ?? task.statusMessage ?? null };
    if (status === 'working') {
      await this.manager.markTaskWorking(taskId, options);
    } else if (status === 'completed') {
      await this.manager.completeTask(taskId, {}, options);
    } else if (status === 'failed') {
      await this.manager.failTask(taskId, { ...FAILED, message: statusMessage ?? FAILED.message }, options);
    } else if (status === 'cancelled') {
      await this.manager.cancelTask(taskId, options);
    } else if (task.status === 'input_required') {
      await this.manager.markTaskWorking(taskId, { ...options, withdrawInputRequests: [] });
    } else {
      // What is asked goes through the SDK's queue of messages: this only stands for it.
      await this.manager.requestTaskInput(taskId, { [randomUUID()]: { method: 'roots/list' } }, options);
    }
  }

  /** Lists tasks: those of the session, then those of none. */
  async listTasks(cursor?: string, sessionId?: string): Promise<{ tasks: Task[]; nextCursor?: string }> {
    const session = this.#partition(sessionId);
    const [, own = '', token = ''] =
      /^(own|any):(.*)$/s.exec(cursor ?? (session === undefined ? 'any:' : 'own:')) ?? [];
    if (own === '' || (own === 'own' && session === undefined)) throw new Error(`Invalid cursor: ${cursor}`);
    const filter = session === undefined ? {} : { authorizationPartition: own === 'own' ? session : null };
    const params = { endpoint: this.#endpoint, ...filter, pageSize: PAGE_SIZE, pageToken: token };
    const page = await this.manager.listTasks(params).catch((cause: unknown) => {
      const { reason } = cause as { reason?: string };
      throw reason === 'invalid_page_token' ? new Error(`Invalid cursor: ${cursor}`, { cause }) : cause;
    });
    const tasks = page.records.map(shown);
    if (page.nextPageToken !== '') return { tasks, nextCursor: `${own}:${page.nextPageToken}` };
    return own === 'own' ? { tasks, nextCursor: 'any:' } : { tasks };
  }

  #partition(sessionId: string | undefined): string | undefined {
    return this.#bound ? sessionId : undefined;
  }

  /** A call without a session is not restricted, and a task without one is everybody's. */
  async #find(taskId: string, sessionId: string | undefined): Promise<TaskRecord | null> {
    const record = await this.manager.findTask(taskId);
    if (record === null || record.endpoint !== this.#endpoint) return null;
    const session = this.#partition(sessionId);
    const owner = record.authorizationPartition;
    return session === undefined || owner === null || owner === session ? record : null;
  }

  async #found(taskId: string, sessionId: string | undefined): Promise<TaskRecord> {
    const record = await this.#find(taskId, sessionId);
    if (record === null) throw new Error(`Task with ID ${taskId} not found`);
    return record;
  }
}

/** A task as the SDK has it. */
function shown({ task, origin }: TaskRecord): Task {
  const { taskId, status, createdAt, lastUpdatedAt, statusMessage, ttlMs: ttl } = task;
  const pollInterval = (origin as Origin).pollInterval ?? task.pollIntervalMs;
  const message = statusMessage === undefined ? {} : { statusMessage };
  return { taskId, status, ttl, createdAt, lastUpdatedAt, pollInterval, ...message };
}

/** The result that stands in a failure. */
function resultOf(failure: Failure | undefined): Result | undefined {
  return (failure?.data as { result?: Result } | undefined)?.result;
}
