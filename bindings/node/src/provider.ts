/** The state provider: A2A tasks, whether they are active or final, and the task store behind that. */

import { Changes } from './changes.js';
import { TaskEvents } from './events.js';
import { Handle } from './handle.js';
import { optionalText, options, text, uint32, uint64 } from './json.js';
import { library } from './native.js';
import { pages } from './pages.js';
import { payload } from './protocol.js';
import { type Opened, openOver, Store, type StoreLike } from './store.js';
import type {
  A2AFilters,
  A2AListOptions,
  A2ATask,
  A2ATaskPage,
  EventLog,
  Liveness,
  ObjectPayload,
  PushConfigs,
  ReadOptions,
  Revisioned,
  SaveOptions,
  StateProviderOptions,
} from './types.js';
import { type WaitOptions, waitFor } from './waits.js';

/**
 * A provider of the state of A2A tasks: it keeps them and tells which are active and which are final. Methods with an
 * `owner` see that owner's tasks only; null is the anonymous owner.
 *
 * ```ts
 * await using agent = await StateProvider.open('sqlite:agent.db');
 * await agent.saveTask('alice', { id: 't-1', status: { state: 'working' } });
 * ```
 */
export class StateProvider extends Handle {
  readonly #changes: Changes;

  private constructor({ token, threads, clock }: Opened, saves: bigint) {
    super(token, 'state_provider_close', threads);
    if (saves !== token) {
      this._resources.add(() => {
        library.invoke('state_provider_close', [saves]);
      });
    }
    this.#changes = new Changes('state_provider_open_events', saves, threads, this._resources);
    clock?._tell(this.#changes);
  }

  /**
   * Opens a state provider.
   *
   * Source: `taskhold_state_provider_open`.
   *
   * @param store where the tasks live: a {@link Store}, its URL, or null for a private one in memory.
   * @param given options; each has a default.
   * @throws {InvalidArgumentError} an option is malformed or unknown, or the URL is of no known form.
   * @throws {UnavailableError} the storage failed.
   */
  static async open(store: StoreLike = null, given: StateProviderOptions = {}): Promise<StateProvider> {
    const over = store instanceof Store ? store : await Store.open(store);
    try {
      // Waits need to hear of saves, whatever the queues of the user are told.
      const saves = given.announceSaves
        ? null
        : await openOver(over, 'state_provider_open', { ...given, announceSaves: true }, opened => opened.token);
      return await openOver(over, 'state_provider_open', given, opened => {
        return new StateProvider(opened, saves ?? opened.token);
      });
    } finally {
      // What is opened over a store keeps it.
      if (over !== store) over.close();
    }
  }

  /**
   * The options that the provider works with, defaults filled in.
   *
   * Source: `taskhold_state_provider_options`.
   */
  async options(): Promise<Required<StateProviderOptions>> {
    return JSON.parse(await this.optionsJson()) as Required<StateProviderOptions>;
  }

  /** As {@link options}; gives the text. */
  optionsJson(): Promise<string> {
    return this._text('state_provider_options');
  }

  /**
   * Saves a task: a new one, or in place of the stored one (the last write wins).
   *
   * Source: `taskhold_state_provider_save_task`.
   *
   * @param owner whose task it is, at most 1024 bytes.
   * @param task an A2A Task object, kept byte for byte; `id` and `status.state` are required.
   * @param given conditions, and the event that led to this state.
   * @returns the revision that this save made.
   * @throws {NotFoundError} the id belongs to another owner, or there is none and `mustExist` was given.
   * @throws {InvalidStateError} `task_final`: the stored task is final, and this one is not or `unlessFinal` was given.
   * @throws {ConflictError} the revision is another.
   * @throws {CapacityExhaustedError} the limit of retained tasks is reached.
   * @throws {InvalidArgumentError} an argument is malformed.
   * @throws {LimitExceededError} the task is too large or too deep.
   */
  async saveTask(owner: string | null, task: ObjectPayload, given: SaveOptions = {}): Promise<number> {
    const args = [optionalText(owner), payload(task), options(given)];
    return Number((await this._call('state_provider_save_task', ...args)).value);
  }

  /**
   * Finds one of the owner's tasks. Unknown tasks and those of other owners give the same answer.
   *
   * Source: `taskhold_state_provider_get_task`.
   *
   * @param given `historyLength` (absent: all; n: the last n messages; 0: no `history`).
   * @returns the task with its revision, or null.
   */
  async getTask(
    owner: string | null,
    taskId: string,
    given: { historyLength?: number | null } = {},
  ): Promise<Revisioned<A2ATask> | null> {
    const found = await this.getTaskJson(owner, taskId, given);
    return found === null ? null : { value: JSON.parse(found.value) as A2ATask, revision: found.revision };
  }

  /** As {@link getTask}; gives the text. */
  async getTaskJson(
    owner: string | null,
    taskId: string,
    given: { historyLength?: number | null } = {},
  ): Promise<Revisioned<string> | null> {
    const args = [optionalText(owner), text(taskId), options(given)];
    const { text: found, value } = await this._call('state_provider_get_task', ...args);
    return found === null ? null : { value: found, revision: Number(value) };
  }

  /**
   * Deletes one of the owner's tasks. One that is not there, or is another owner's, is left alone.
   *
   * Source: `taskhold_state_provider_delete_task`.
   */
  async deleteTask(owner: string | null, taskId: string): Promise<void> {
    await this._call('state_provider_delete_task', optionalText(owner), text(taskId));
  }

  /**
   * Lists the owner's tasks: by status timestamp descending (absent last), then by id ascending.
   *
   * Source: `taskhold_state_provider_list_tasks`.
   *
   * @throws {InvalidArgumentError} `invalid_page_token`, also of other filters or of another owner.
   */
  async listTasks(owner: string | null, params: A2AListOptions = {}): Promise<A2ATaskPage> {
    return JSON.parse(await this.listTasksJson(owner, params)) as A2ATaskPage;
  }

  /** As {@link listTasks}; gives the text. */
  async listTasksJson(owner: string | null, params: A2AListOptions = {}): Promise<string> {
    return this._text('state_provider_list_tasks', optionalText(owner), options(params));
  }

  /** All of the owner's tasks that match, page after page. */
  async *iterTasks(owner: string | null, filters: A2AFilters = {}): AsyncGenerator<A2ATask, void, void> {
    for await (const page of pages(params => this.listTasks(owner, params), filters)) yield* page.tasks;
  }

  /**
   * Tells whether a task is active: not final, or final but within its grace period.
   *
   * Source: `taskhold_state_provider_is_task_active`.
   *
   * @throws {UnavailableError} the storage failed, which is never reported as "not active".
   */
  async isTaskActive(taskId: string): Promise<boolean> {
    return (await this._call('state_provider_is_task_active', text(taskId))).value !== 0n;
  }

  /**
   * Tells whether a task is final, whatever the grace period.
   *
   * Source: `taskhold_state_provider_is_task_finalized`.
   */
  async isTaskFinalized(taskId: string): Promise<boolean> {
    return (await this._call('state_provider_is_task_finalized', text(taskId))).value !== 0n;
  }

  /**
   * Tells where a task stands: both answers above, and whether it is known at all, from one reading.
   *
   * Source: `taskhold_state_provider_task_liveness`.
   */
  async taskLiveness(taskId: string): Promise<Liveness> {
    return Number((await this._call('state_provider_task_liveness', text(taskId))).value) as Liveness;
  }

  /**
   * Reads a task's log: the events that saves appended to it, oldest first. For the trusted host, by id.
   *
   * Source: `taskhold_state_provider_read_events`.
   *
   * @param given `afterRevision` (0), `limit` 1 to 1000 (100).
   */
  async readEvents(taskId: string, given: ReadOptions = {}): Promise<EventLog> {
    return JSON.parse(await this.readEventsJson(taskId, given)) as EventLog;
  }

  /** As {@link readEvents}; gives the text. */
  async readEventsJson(taskId: string, given: ReadOptions = {}): Promise<string> {
    return this._text('state_provider_read_events', text(taskId), options(given));
  }

  /**
   * Waits until a task's revision is not the one that was seen. Any number of waits cost one queue and
   * no thread.
   *
   * Source: `taskhold_state_provider_wait_task`.
   *
   * @param seenRevision the revision seen last; 0 when none.
   * @returns the revision as it is now.
   * @throws {TimeoutError} it is still the one seen.
   * @throws {NotFoundError} the task is not there, or went.
   * @throws {ClosedError} the provider was closed.
   */
  async waitTask(taskId: string, seenRevision: number | bigint = 0, wait: WaitOptions = {}): Promise<number> {
    const id = text(taskId);
    const seen = uint64(seenRevision, 'seenRevision');
    const look = async (): Promise<number> => {
      return Number((await this._call('state_provider_wait_task', id, seen, 0)).value);
    };
    // Nothing tells of a task that another process deletes, or that is not retained any more.
    const expires = (): Promise<number> => Promise.resolve(Date.now());
    return waitFor({ changes: this.#changes, taskId: id, look, expires }, wait);
  }

  /**
   * Keeps a push notification config for one of the owner's tasks, in the place of the one with the same id.
   *
   * Source: `taskhold_state_provider_set_push_config`.
   *
   * @param configId unique for the task; null stands for the task's id.
   * @throws {NotFoundError} the task is another owner's.
   * @throws {CapacityExhaustedError} the task has 100 configs.
   */
  async setPushConfig(
    owner: string | null,
    taskId: string,
    configId: string | null,
    config: ObjectPayload,
  ): Promise<void> {
    const args = [optionalText(owner), text(taskId), optionalText(configId), payload(config)];
    await this._call('state_provider_set_push_config', ...args);
  }

  /**
   * Lists the push notification configs of one of the owner's tasks.
   *
   * Source: `taskhold_state_provider_list_push_configs`.
   *
   * @param given `anyOwner` (false): of the task whoever owns it, with null as the owner; never for clients.
   */
  async listPushConfigs(
    owner: string | null,
    taskId: string,
    given: { anyOwner?: boolean | null } = {},
  ): Promise<PushConfigs> {
    return JSON.parse(await this.listPushConfigsJson(owner, taskId, given)) as PushConfigs;
  }

  /** As {@link listPushConfigs}; gives the text. */
  async listPushConfigsJson(
    owner: string | null,
    taskId: string,
    given: { anyOwner?: boolean | null } = {},
  ): Promise<string> {
    return this._text('state_provider_list_push_configs', optionalText(owner), text(taskId), options(given));
  }

  /**
   * Deletes a push notification config of one of the owner's tasks, or with null all of them.
   *
   * Source: `taskhold_state_provider_delete_push_config`.
   */
  async deletePushConfig(owner: string | null, taskId: string, configId: string | null = null): Promise<void> {
    await this._call('state_provider_delete_push_config', optionalText(owner), text(taskId), optionalText(configId));
  }

  /**
   * Opens a queue that tells when tasks become final and, with the option `announceSaves`, of every save.
   *
   * Source: `taskhold_state_provider_open_events`.
   *
   * @param capacity most events that wait in the queue, at least 1.
   */
  async openEvents(capacity = 1024): Promise<TaskEvents> {
    const answer = await this._call('state_provider_open_events', uint32(capacity, 'capacity'));
    return new TaskEvents(answer.value, this._threads);
  }
}
