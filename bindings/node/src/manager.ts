/** The task manager: MCP tasks after the Tasks extension (`io.modelcontextprotocol/tasks`, SEP-2663). */

import { Changes } from './changes.js';
import { TaskEvents } from './events.js';
import { call } from './handle.js';
import { Leases } from './held.js';
import { optionalText, options, text, uint32, uint64 } from './json.js';
import { pages } from './pages.js';
import { payload } from './protocol.js';
import { QueueCalls } from './queue.js';
import { type Opened, openOver, type StoreLike } from './store.js';
import type {
  ForcibleOptions,
  InputOptions,
  JsonObject,
  ManagerOptions,
  ObjectPayload,
  TakeOptions,
  TaskCreation,
  TaskFilters,
  TaskListOptions,
  TaskPage,
  TaskRecord,
  TransitionOptions,
  WorkingOptions,
} from './types.js';
import { type WaitOptions, waitFor } from './waits.js';
import { type ClaimWorkOptions, claimWork, holdWork, type Work } from './work.js';
import { runWorker, type WorkerOptions, type WorkHandler } from './worker.js';

/**
 * A manager of MCP tasks: it creates them, keeps their state, and answers the protocol's requests about them. Your program
 * does the work and tells the manager how it goes. The worker's methods are trusted; those of the protocol take the endpoint
 * and the authorization partition of the caller (null: anonymous) and check both.
 *
 * Each method that gives an object has a twin that gives the JSON text, in which every number keeps its digits.
 *
 * ```ts
 * await using tasks = await TaskManager.open('sqlite:tasks.db');
 * const record = await tasks.createTask({ endpoint: '/mcp', origin: { name: 'hello' } });
 * await tasks.completeTask(record.task.taskId, { content: [] });
 * ```
 */
export class TaskManager extends QueueCalls {
  /** @internal */
  readonly _changes: Changes;
  /** @internal */
  readonly _leases: Leases;
  readonly #manualTime: boolean;

  private constructor({ token, threads, clock }: Opened) {
    super(token, 'manager_close', threads);
    this._changes = new Changes('manager_open_events', token, threads, this._resources);
    this._leases = new Leases(token, this._resources);
    this.#manualTime = clock !== null;
    clock?._tell(this._changes);
    clock?._tell(this._leases);
  }

  /**
   * Opens a manager.
   *
   * Source: `taskhold_manager_open`.
   *
   * @param store where the tasks live: a {@link Store}, its URL, or null for a private one in memory.
   * @param given options, with their defaults in {@link ManagerOptions}.
   * @throws {InvalidArgumentError} an option is malformed or unknown, or the URL is of no known form.
   * @throws {UnsupportedError} this build has no such backend.
   * @throws {UnavailableError} the storage failed.
   */
  static open(store: StoreLike = null, given: ManagerOptions = {}): Promise<TaskManager> {
    return openOver(store, 'manager_open', given, opened => new TaskManager(opened));
  }

  /**
   * The options that the manager works with, defaults filled in.
   *
   * Source: `taskhold_manager_options`.
   */
  async options(): Promise<Required<ManagerOptions>> {
    return JSON.parse(await this.optionsJson()) as Required<ManagerOptions>;
  }

  /** As {@link options}; gives the text. */
  optionsJson(): Promise<string> {
    return this._text('manager_options');
  }

  // The worker's side: trusted

  /**
   * Creates a task: a random id, status working, revision 1.
   *
   * Source: `taskhold_manager_create_task`.
   *
   * @param creation `endpoint` and `origin`, and what else there is in {@link TaskCreation}.
   * @returns the record; `task` is the only part that may reach a client.
   * @throws {InvalidArgumentError} the creation is malformed.
   * @throws {CapacityExhaustedError} the limit of unexpired tasks is reached; none is evicted.
   * @throws {ConflictError} `operation_mismatch`: the operation id stands for other work.
   * @throws {LimitExceededError} a payload is too large or too deep.
   */
  async createTask(creation: TaskCreation): Promise<TaskRecord> {
    return JSON.parse(await this.createTaskJson(creation)) as TaskRecord;
  }

  /** As {@link createTask}; gives the text. */
  async createTaskJson(creation: TaskCreation): Promise<string> {
    return this._text('manager_create_task', payload(creation));
  }

  /**
   * Finds a task for trusted code: nobody's authorization is checked.
   *
   * Source: `taskhold_manager_find_task`.
   *
   * @returns the record, or null when there is no such task or it expired.
   * @throws {InvalidArgumentError} the id is malformed.
   */
  async findTask(taskId: string): Promise<TaskRecord | null> {
    return JSON.parse((await this.findTaskJson(taskId)) ?? 'null') as TaskRecord | null;
  }

  /** As {@link findTask}; gives the text. */
  async findTaskJson(taskId: string): Promise<string | null> {
    return (await this._call('manager_find_task', text(taskId))).text;
  }

  /**
   * Marks a task as working; its outstanding input requests are superseded.
   *
   * Source: `taskhold_manager_mark_task_working`.
   *
   * @param given the message, conditions, and what is in {@link WorkingOptions}.
   * @returns the record after the change.
   * @throws {NotFoundError} no such task, or it expired.
   * @throws {InvalidStateError} `task_terminal`, `cancelation_requested`, `lease_required`.
   * @throws {ConflictError} the revision is another, or the lease is lost.
   * @throws {InvalidArgumentError} the id or an option is malformed.
   */
  async markTaskWorking(taskId: string, given: WorkingOptions = {}): Promise<TaskRecord> {
    return JSON.parse(await this.markTaskWorkingJson(taskId, given)) as TaskRecord;
  }

  /** As {@link markTaskWorking}; gives the text. */
  async markTaskWorkingJson(taskId: string, given: WorkingOptions = {}): Promise<string> {
    return this._text('manager_mark_task_working', text(taskId), ...withMessage(given));
  }

  /**
   * Asks the client for input: adds requests and puts the task into status input_required.
   *
   * Source: `taskhold_manager_request_task_input`.
   *
   * @param inputRequests at least one question, by keys that are used once in the task's life.
   * @param given the message, conditions, and what is in {@link InputOptions}.
   * @returns the record after the change.
   * @throws {InvalidArgumentError} `empty_input_requests`, `input_request_key_reused`, `invalid_payload`, …
   * @throws {NotFoundError} no such task, or it expired.
   * @throws {InvalidStateError} `task_terminal`, `input_responses_untaken`, `cancelation_requested`, …
   * @throws {ConflictError} the revision is another, or the lease is lost.
   */
  async requestTaskInput(taskId: string, inputRequests: ObjectPayload, given: InputOptions = {}): Promise<TaskRecord> {
    return JSON.parse(await this.requestTaskInputJson(taskId, inputRequests, given)) as TaskRecord;
  }

  /** As {@link requestTaskInput}; gives the text. */
  async requestTaskInputJson(taskId: string, inputRequests: ObjectPayload, given: InputOptions = {}): Promise<string> {
    return this._text('manager_request_task_input', text(taskId), payload(inputRequests), ...withMessage(given));
  }

  /**
   * Completes a task: terminal and immutable from now on. Of any number of racing ends exactly one wins.
   *
   * Source: `taskhold_manager_complete_task`.
   *
   * @param result an object, kept byte for byte; one whose `isError` is true completes the task all the same.
   * @param given the last message, conditions and the lease.
   * @returns the record after the change.
   * @throws {InvalidArgumentError} the result, the id or an option is malformed.
   * @throws {NotFoundError} no such task, or it expired.
   * @throws {InvalidStateError} `task_terminal`, `cancelation_requested`, `lease_required`.
   * @throws {ConflictError} the revision is another, or the lease is lost.
   * @throws {LimitExceededError} a payload is too large or too deep.
   */
  async completeTask(taskId: string, result: ObjectPayload, given: TransitionOptions = {}): Promise<TaskRecord> {
    return JSON.parse(await this.completeTaskJson(taskId, result, given)) as TaskRecord;
  }

  /** As {@link completeTask}; gives the text. */
  async completeTaskJson(taskId: string, result: ObjectPayload, given: TransitionOptions = {}): Promise<string> {
    return this._text('manager_complete_task', text(taskId), payload(result), ...withMessage(given));
  }

  /**
   * Fails a task with an error that the client sees: terminal and immutable from now on. This is for JSON-RPC errors; a tool
   * that ran and reports an error has completed.
   *
   * Source: `taskhold_manager_fail_task`.
   *
   * @param failure integer `code`, string `message`, optional `data`.
   * @param given the last message, conditions, and the lease, or `force` in its place for operators.
   * @returns the record after the change.
   * @throws as {@link completeTask}.
   */
  async failTask(taskId: string, failure: ObjectPayload, given: ForcibleOptions = {}): Promise<TaskRecord> {
    return JSON.parse(await this.failTaskJson(taskId, failure, given)) as TaskRecord;
  }

  /** As {@link failTask}; gives the text. */
  async failTaskJson(taskId: string, failure: ObjectPayload, given: ForcibleOptions = {}): Promise<string> {
    return this._text('manager_fail_task', text(taskId), payload(failure), ...withMessage(given));
  }

  /**
   * Marks a task as cancelled: terminal and immutable from now on. The worker decides this, a client only asks.
   *
   * Source: `taskhold_manager_cancel_task`.
   *
   * @param given the last message, conditions, and the lease, or `force` in its place for operators.
   * @returns the record after the change.
   * @throws as {@link completeTask}.
   */
  async cancelTask(taskId: string, given: ForcibleOptions = {}): Promise<TaskRecord> {
    return JSON.parse(await this.cancelTaskJson(taskId, given)) as TaskRecord;
  }

  /** As {@link cancelTask}; gives the text. */
  async cancelTaskJson(taskId: string, given: ForcibleOptions = {}): Promise<string> {
    return this._text('manager_cancel_task', text(taskId), ...withMessage(given));
  }

  /**
   * Takes the answers that the client gave: returns and clears them in one step, so that each is taken once.
   *
   * Source: `taskhold_manager_take_task_input_responses`.
   *
   * @returns the answers by the keys of their requests; `{}` when there are none.
   * @throws {NotFoundError} no such task, or it expired.
   * @throws {InvalidStateError} `cancelation_requested`, `lease_required`.
   * @throws {ConflictError} the revision is another, or the lease is lost.
   */
  async takeTaskInputResponses(taskId: string, given: TakeOptions = {}): Promise<Record<string, JsonObject>> {
    return JSON.parse(await this.takeTaskInputResponsesJson(taskId, given)) as Record<string, JsonObject>;
  }

  /** As {@link takeTaskInputResponses}; gives the text. */
  async takeTaskInputResponsesJson(taskId: string, given: TakeOptions = {}): Promise<string> {
    return this._text('manager_take_task_input_responses', text(taskId), options(given));
  }

  /**
   * Tells whether a client has asked for the cancelation of a task; it stays so after the task's end.
   *
   * Source: `taskhold_manager_is_task_cancelation_requested`.
   *
   * @throws {NotFoundError} no such task, or it expired.
   */
  async isTaskCancelationRequested(taskId: string): Promise<boolean> {
    return (await this._call('manager_is_task_cancelation_requested', text(taskId))).value !== 0n;
  }

  /**
   * Waits until a task's revision is greater than the one seen. Any number of waits cost one queue and no thread.
   * That queued work was claimed, given back or lapsed is seen within about a second.
   *
   * Source: `taskhold_manager_wait_task`.
   *
   * @param seenRevision the revision seen last; 0 for any.
   * @param wait how long, and what gives it up.
   * @returns the record as it is now.
   * @throws {TimeoutError} the revision is still the one seen.
   * @throws {NotFoundError} no such task, or it expired meanwhile.
   * @throws {ClosedError} the manager was closed.
   */
  async waitTask(taskId: string, seenRevision: number | bigint = 0, wait: WaitOptions = {}): Promise<TaskRecord> {
    return JSON.parse(await this.waitTaskJson(taskId, seenRevision, wait)) as TaskRecord;
  }

  /** As {@link waitTask}; gives the text. */
  async waitTaskJson(taskId: string, seenRevision: number | bigint = 0, wait: WaitOptions = {}): Promise<string> {
    const id = text(taskId);
    const seen = uint64(seenRevision, 'seenRevision');
    const look = (): Promise<string> => this._look(id, seen);
    return waitFor({ changes: this._changes, taskId: id, look, expires: () => this.#expiry(id) }, wait);
  }

  /** When a look is due though nothing tells of it: the task expires by the wall clock, or others work on it. */
  async #expiry(taskId: string): Promise<number | null> {
    const record = await this.findTaskJson(taskId);
    if (record === null) return Date.now();
    // Claims, releases and lapses of work move its revision, and are no events.
    if (call('json_get', record, '/attempts').text !== null) return Date.now();
    // A manual clock wakes those who wait.
    if (this.#manualTime) return null;
    // Only these two are read: what a client put into the record is nothing to parse here.
    const created = call('json_get', record, '/task/createdAt').text;
    const timeToLive = call('json_get', record, '/task/ttlMs').text;
    if (created === null || timeToLive === null || timeToLive === 'null') return null;
    return Date.parse(created) + Number(timeToLive) + 5;
  }

  /**
   * Lists tasks for operators, oldest first. Never for clients.
   *
   * Source: `taskhold_manager_list_tasks`.
   *
   * @throws {InvalidArgumentError} `invalid_page_token`, or a parameter is malformed.
   */
  async listTasks(params: TaskListOptions = {}): Promise<TaskPage> {
    return JSON.parse(await this.listTasksJson(params)) as TaskPage;
  }

  /** As {@link listTasks}; gives the text. */
  async listTasksJson(params: TaskListOptions = {}): Promise<string> {
    return this._text('manager_list_tasks', options(params));
  }

  /** All tasks that match, page after page: a full walk meets every task that stays meanwhile, each once. */
  async *iterTasks(filters: TaskFilters = {}): AsyncGenerator<TaskRecord, void, void> {
    for await (const page of pages(params => this.listTasks(params), filters)) yield* page.records;
  }

  // Queued work

  /**
   * Claims a task and keeps its lease until it is settled: see {@link Work}. With `await using`, a task that was not ended is
   * given back at the end of the block.
   *
   * @param queues in strict order of preference.
   * @param given who claims, for how long at a time (30 seconds, renewed at a third), and how long to wait for a task.
   * @returns the work, or null when no task came.
   */
  claim(queues: string | readonly string[], given: ClaimWorkOptions = {}): Promise<Work | null> {
    return claimWork(this, queues, given);
  }

  /**
   * Keeps the lease of a task that was created with one, in this process's hands: a server that works by itself so gets its
   * dead work noticed.
   *
   * @param record the answer to the creation.
   * @param leaseMs what the lease is renewed to; 30000.
   */
  hold(record: TaskRecord, leaseMs?: number): Work {
    return holdWork(this, record, leaseMs);
  }

  /**
   * Runs a handler for each task of some queues, until the signal is aborted: see {@link WorkerOptions}. What the handler
   * gives completes the task; when it throws, the attempt has failed, and the task is given back or, after its last attempt,
   * failed.
   *
   * @param queues in strict order of preference.
   * @param handler does the work; its `signal` is aborted when the client asks for cancelation, the lease is lost, or the
   *   worker stops.
   * @returns when the signal was aborted and what ran has ended.
   */
  worker(queues: string | readonly string[], handler: WorkHandler, given: WorkerOptions = {}): Promise<void> {
    return runWorker(this, queues, handler, given);
  }

  // Events

  /**
   * Announces that a task changed, as the manager does by itself after each change.
   *
   * Source: `taskhold_manager_publish_task_changed`.
   */
  async publishTaskChanged(taskId: string): Promise<void> {
    await this._call('manager_publish_task_changed', text(taskId));
  }

  /**
   * Opens a queue of the changes of all tasks under this manager's name, also of those that other processes make.
   *
   * Source: `taskhold_manager_open_events`.
   *
   * @param capacity most events that wait in the queue, at least 1.
   */
  async openEvents(capacity = 1024): Promise<TaskEvents> {
    const answer = await this._call('manager_open_events', uint32(capacity, 'capacity'));
    return new TaskEvents(answer.value, this._threads);
  }
}

/** The status message, and the options beside it. */
function withMessage(given: TransitionOptions): [string | null, string | null] {
  const { statusMessage, ...rest } = given;
  return [optionalText(statusMessage), options(rest)];
}
