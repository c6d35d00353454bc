/**
 * A durable task store for agents on the official A2A SDK (`@a2a-js/sdk`), in the place of its `InMemoryTaskStore`.
 *
 * @packageDocumentation
 */

import { createHash } from 'node:crypto';
import { type ListTasksRequest, type ListTasksResponse, Task, taskStateToJSON } from '@a2a-js/sdk';
import { RequestMalformedError } from '@a2a-js/sdk/errors';
import type { ServerCallContext, TaskStore } from '@a2a-js/sdk/server';
import { InvalidArgumentError } from './errors.js';
import { StateProvider } from './provider.js';
import type { StoreLike } from './store.js';
import type { StateProviderOptions } from './types.js';

/** The protocol's page size unless a client asks for another, and the largest. */
const PAGE_SIZE = 50;
const LARGEST_PAGE = 100;

/** More than any task has. */
const ALL_MESSAGES = 2 ** 31 - 1;

/** The library's limit of an owner; longer names are kept as their digest, behind this. */
const LONGEST_OWNER = 1024;
const DIGEST = 'sha256:';

/** Gives the owner of a call; null is nobody. */
export type OwnerOf = (context: ServerCallContext) => string | null;

/** The name of the call's user, and its tenant where there is one. */
export function ownerOf(context: ServerCallContext): string | null {
  const name = context.user?.userName ?? '';
  if (context.tenant) return JSON.stringify([context.tenant, name]);
  return name === '' ? null : name;
}

/**
 * The SDK's `TaskStore` over a state provider. Tasks are kept as the protocol's JSON, so that agents in other languages read them.
 *
 * ```ts
 * const taskStore = await DurableTaskStore.open('sqlite:agent.db');
 * const handler = new DefaultRequestHandler(agentCard, taskStore, executor);
 * ```
 *
 * A final task is never taken back to a state that is not final, and an id belongs to one owner alone.
 */
export class DurableTaskStore implements TaskStore, AsyncDisposable {
  /** Keeps the tasks. */
  readonly provider: StateProvider;
  readonly #ownerOf: OwnerOf;

  /**
   * Makes the store over a provider that is open.
   *
   * @param provider keeps the tasks.
   * @param owner gives the owner of a call; {@link ownerOf} unless given.
   */
  constructor(provider: StateProvider, owner: OwnerOf = ownerOf) {
    this.provider = provider;
    this.#ownerOf = owner;
  }

  /**
   * Opens a provider and makes the store over it.
   *
   * @param where where the tasks live: a `Store`, its URL, or null for memory.
   * @param given options of the provider, and `owner`.
   */
  static async open(
    where: StoreLike = null,
    given: StateProviderOptions & { owner?: OwnerOf } = {},
  ): Promise<DurableTaskStore> {
    const { owner, ...options } = given;
    return new DurableTaskStore(await StateProvider.open(where, options), owner);
  }

  /** Closes the provider. */
  close(): void {
    this.provider.close();
  }

  /** As {@link close}. */
  [Symbol.asyncDispose](): Promise<void> {
    this.close();
    return Promise.resolve();
  }

  /**
   * Saves a task for the caller.
   *
   * @throws {InvalidStateError} `task_final`: the stored task is final, and this one is not.
   * @throws {NotFoundError} the id belongs to another owner.
   */
  async save(task: Task, context: ServerCallContext): Promise<void> {
    const written = Task.toJSON(task) as { status?: { state?: string } };
    // The state that is the default of its type is left out.
    const status = { ...written.status, state: written.status?.state ?? taskStateToJSON(0) };
    await this.provider.saveTask(this.#owner(context), { ...written, status });
  }

  /** One of the caller's tasks; undefined for what is unknown or another owner's. */
  async load(taskId: string, context: ServerCallContext): Promise<Task | undefined> {
    try {
      const found = await this.provider.getTask(this.#owner(context), taskId);
      return found === null ? undefined : Task.fromJSON(found.value);
    } catch (error) {
      // An id that no task can have is unknown, too.
      if (error instanceof InvalidArgumentError && error.reason === 'invalid_identifier') return undefined;
      throw error;
    }
  }

  /**
   * A page of the caller's tasks, the latest first.
   *
   * @throws {RequestMalformedError} the token is none, or one of another owner or of other filters.
   */
  async list(params: ListTasksRequest, context: ServerCallContext): Promise<ListTasksResponse> {
    const { contextId, status, pageSize = PAGE_SIZE, pageToken, statusTimestampAfter, includeArtifacts } = params;
    const after = statusTimestampAfter ? Date.parse(statusTimestampAfter) : Number.NaN;
    const page = await this.provider
      .listTasks(this.#owner(context), {
        contextId: contextId || null,
        status: status ? taskStateToJSON(status) : null,
        // Theirs is strictly after, to the millisecond.
        statusTimestampAfter: Number.isNaN(after) ? null : new Date(after + 1).toISOString(),
        pageSize: Math.min(Math.max(1, pageSize), LARGEST_PAGE),
        pageToken,
        historyLength: params.historyLength ?? ALL_MESSAGES,
        includeArtifacts: includeArtifacts ?? false,
      })
      .catch((error: unknown) => {
        if (!(error instanceof InvalidArgumentError)) throw error;
        throw new RequestMalformedError(error.message);
      });
    const { nextPageToken, totalSize } = page;
    return { tasks: page.tasks.map(task => Task.fromJSON(task)), nextPageToken, pageSize, totalSize };
  }

  #owner(context: ServerCallContext): string | null {
    const name = this.#ownerOf(context);
    // A name that looks like a digest could be somebody else's.
    const fits = name === null || (Buffer.byteLength(name) <= LONGEST_OWNER && !name.startsWith(DIGEST));
    return fits ? name : DIGEST + createHash('sha256').update(name).digest('hex');
  }
}
