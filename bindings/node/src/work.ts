/** Work on queued tasks: a task that this process holds. */

import { hostname } from 'node:os';
import { ConflictError, InvalidArgumentError, InvalidStateError, NotFoundError } from './errors.js';
import type { Held, Interruption } from './held.js';
import type { TaskManager } from './manager.js';
import type { InputRequest, JsonObject, ObjectPayload, ReleaseOptions, TaskRecord } from './types.js';
import type { WaitOptions } from './waits.js';

/** How long a lease is, unless it is said; it is renewed at a third. */
const LEASE_MS = 30_000;

const UNSUCCESSFUL = { code: -32603, message: 'The work on this task did not succeed.' };

/** Where answers are kept in a checkpoint. */
const ANSWERS = 'answers';

/** The work is to stop: the reason of {@link Work.signal}, and what the methods of {@link Work} throw from then on. */
export class WorkInterrupted extends Error {
  /** The client asked for it, somebody else holds the task or it ended, or the worker stops. */
  readonly reason: Interruption;

  /** @param reason why. */
  constructor(reason: Interruption) {
    super(`the work is to stop: ${reason}`);
    this.name = 'WorkInterrupted';
    this.reason = reason;
  }
}

/**
 * The task waits for its client, and nobody holds it: thrown by {@link Work.ask} with `park`. Leave the handler by it. The
 * task can be claimed again once its last question is answered, and `ask` then gives the answers.
 */
export class Parked extends Error {
  constructor() {
    super('the task is parked until its client has answered');
    this.name = 'Parked';
  }
}

/** How a task is claimed. */
export interface ClaimWorkOptions extends WaitOptions {
  /** Who claims; host and process unless given. */
  worker?: string;
  /** How long the task is held after this process dies; 30000, renewed at a third. */
  leaseMs?: number;
}

/** How a question is asked. */
export interface AskOptions {
  /** The message for people meanwhile. */
  statusMessage?: string | null;
  /** Holds the task no longer while the client thinks: throws {@link Parked}. */
  park?: boolean;
  /** Longest wait for a change, in milliseconds. */
  timeoutMs?: number;
}

/** What became of work: null while the task is held. */
export type Outcome = 'completed' | 'failed' | 'cancelled' | 'released' | 'parked' | 'lost';

/** Who claims, unless it is said: host and process. */
export function workerName(): string {
  return `${hostname().slice(0, 200)}:${process.pid}`;
}

/**
 * A task that this process holds, from {@link TaskManager.claim}, {@link TaskManager.hold} or a worker. Its lease is renewed,
 * in a thread, until it is settled: by one of the methods that end it, or by `await using`, which gives back a task that was
 * not ended, and cancels it where the client asked for that.
 */
export class Work implements Held, AsyncDisposable {
  /** The task's id. */
  readonly taskId: string;
  /** The token of the lease. */
  readonly lease: number;
  /** The length of the lease in milliseconds. */
  readonly leaseMs: number;
  readonly #manager: TaskManager;
  readonly #stop = new AbortController();
  #record: TaskRecord;
  #checkpoint: unknown;
  #interrupted: Interruption | null = null;
  #outcome: Outcome | null = null;
  #ending = false;

  /** @internal */
  constructor(manager: TaskManager, record: TaskRecord, leaseMs: number) {
    const token = record.lease?.token;
    if (token === undefined) {
      const message = 'the record is not the answer to a claim, or to a creation with a lease';
      throw new InvalidArgumentError(message, { reason: 'missing_key', key: 'lease' });
    }
    this.#manager = manager;
    this.#record = record;
    this.#checkpoint = record.checkpoint ?? null;
    this.taskId = record.task.taskId;
    this.lease = token;
    this.leaseMs = leaseMs;
    manager._leases.add(this, manager._changes);
  }

  /** The task's record, as the last call gave it. */
  get record(): TaskRecord {
    return this.#record;
  }

  /** What the task was created with as `work`. */
  get work(): unknown {
    return this.#record.work;
  }

  /** What the last attempt stored, or this one; null at first. */
  get checkpoint(): unknown {
    return this.#checkpoint;
  }

  /** Which attempt this is, from 1 on. */
  get attempt(): number {
    return this.#record.attempt ?? 1;
  }

  /** Aborted when the work is to stop; its reason is a {@link WorkInterrupted}. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Why the work is to stop, or null. */
  get interrupted(): Interruption | null {
    return this.#interrupted;
  }

  /** What became of the work; null while the task is held. */
  get outcome(): Outcome | null {
    return this.#outcome;
  }

  /** Has the work stop. */
  interrupt(reason: Interruption): void {
    if (this.#ending || this.#interrupted !== null) return;
    this.#interrupted = reason;
    this.#stop.abort(new WorkInterrupted(reason));
  }

  /**
   * Sets the message for people, and stores what another worker needs to go on, if it is given.
   *
   * @throws {WorkInterrupted} the work is to stop.
   */
  async progress(statusMessage: string | null = null, given: { checkpoint?: unknown } = {}): Promise<TaskRecord> {
    return this.#goesOn(async () => {
      const checkpoint = given.checkpoint === undefined ? undefined : this.#withAnswers(given.checkpoint);
      const options = { lease: this.lease, withdrawInputRequests: [], statusMessage, checkpoint };
      this.#record = await this.#manager.markTaskWorking(this.taskId, options);
      if (checkpoint !== undefined) this.#checkpoint = checkpoint;
      return this.#record;
    });
  }

  /**
   * Asks the client, and waits for all answers. They are kept in the checkpoint, as its `answers`: a later attempt that asks the
   * same gets them without asking again.
   *
   * @param requests questions by keys that are used once in the task's life.
   * @returns the answers by their keys.
   * @throws {WorkInterrupted} the work is to stop.
   * @throws {Parked} with `park`, when there is something to wait for.
   * @throws {TimeoutError} nothing came; the questions stay open.
   */
  async ask(requests: Record<string, InputRequest>, given: AskOptions = {}): Promise<Record<string, JsonObject>> {
    const kept = this.#checkpoint;
    if (kept !== null && (typeof kept !== 'object' || Array.isArray(kept))) {
      throw new TypeError('ask() keeps the answers in the checkpoint, which must be an object');
    }
    return this.#goesOn(async () => {
      const missing = (): [string, InputRequest][] => {
        return Object.entries(requests).filter(([key]) => !Object.hasOwn(this.#answers(), key));
      };
      while (missing().length > 0) {
        try {
          await this.#askOnce(Object.fromEntries(missing()), given);
        } catch (error) {
          if (!(error instanceof ConflictError) || error.reason !== 'revision_mismatch') throw error;
          // An answer came in between: look again.
          const record = await this.#manager.findTask(this.taskId);
          if (record !== null) this.#record = record;
        }
      }
      const answers = this.#answers();
      return Object.fromEntries(Object.keys(requests).map(key => [key, answers[key] as JsonObject]));
    });
  }

  /** Takes the answers that are there, or asks and waits for a change. All steps are of one revision, so no answer is lost. */
  async #askOnce(missing: Record<string, InputRequest>, given: AskOptions): Promise<void> {
    const { lease, taskId } = this;
    const expectedRevision = this.#record.revision;
    const taken = await this.#manager.takeTaskInputResponses(taskId, { lease, expectedRevision, peek: true });
    if (Object.keys(taken).length > 0) {
      const answers = { ...this.#answers(), ...taken };
      const checkpoint = { ...(this.#checkpoint as JsonObject | null), [ANSWERS]: answers };
      await this.#manager.takeTaskInputResponses(taskId, { lease, expectedRevision, checkpoint });
      this.#checkpoint = checkpoint;
      return;
    }
    const { statusMessage = null, park = false, timeoutMs } = given;
    const options = { lease, expectedRevision, statusMessage, ...(park ? { park } : {}) };
    this.#record = await this.#manager.requestTaskInput(taskId, missing, options);
    if (park) {
      this.#end('parked');
      throw new Parked();
    }
    // Any change: an answer, or what an operator did.
    const wait = { timeoutMs, signal: this.signal };
    this.#record = await this.#manager.waitTask(taskId, this.#record.revision, wait);
  }

  /** Completes the task; as {@link TaskManager.completeTask}. */
  complete(result: ObjectPayload, statusMessage: string | null = null): Promise<TaskRecord> {
    const { lease, taskId } = this;
    return this.#ends(() => this.#manager.completeTask(taskId, result, { lease, statusMessage }));
  }

  /** Fails the task for good, whatever attempts are left; as {@link TaskManager.failTask}. */
  fail(failure: ObjectPayload, statusMessage: string | null = null): Promise<TaskRecord> {
    const { lease, taskId } = this;
    return this.#ends(() => this.#manager.failTask(taskId, failure, { lease, statusMessage }));
  }

  /** Cancels the task; as {@link TaskManager.cancelTask}. */
  cancel(statusMessage: string | null = null): Promise<TaskRecord> {
    const { lease, taskId } = this;
    return this.#ends(() => this.#manager.cancelTask(taskId, { lease, statusMessage }));
  }

  /** Gives the task back; as {@link TaskManager.releaseTask}. One without a queue fails: nobody else can take it over. */
  async release(options: Omit<ReleaseOptions, 'lease'> = {}): Promise<TaskRecord> {
    const { lease, taskId } = this;
    try {
      return await this.#ends(() => this.#manager.releaseTask(taskId, { ...options, lease }));
    } catch (error) {
      if (!(error instanceof InvalidStateError) || error.reason !== 'not_queued') throw error;
      return this.fail(options.failure ?? UNSUCCESSFUL, options.statusMessage ?? null);
    }
  }

  /** Ends the task, or gives it back, unless that was done. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this._settle(this.#interrupted !== null);
  }

  /** The same, after an interruption or not. @internal */
  async _settle(interruption: boolean): Promise<void> {
    try {
      if (this.#outcome !== null) return;
      if (this.#interrupted === 'lease_lost') this.#outcome = 'lost';
      else if (this.#interrupted === 'cancelation_requested' && interruption) await this.cancel();
      else if (interruption) await this.release({ countsAsAttempt: false });
      else await this.release();
    } catch (error) {
      if (!isGone(error) && !(error instanceof InvalidStateError)) throw error;
      this.#outcome = 'lost';
    } finally {
      this.#manager._leases.remove(this);
    }
  }

  #end(outcome: Outcome): void {
    this.#ending = true;
    this.#outcome = outcome;
    this.#manager._leases.remove(this);
  }

  /** A call that ends the task. From here on it is no fault of anybody's that the lease is not there any more. */
  async #ends(call: () => Promise<TaskRecord>): Promise<TaskRecord> {
    this.#ending = true;
    try {
      this.#record = await call();
    } catch (error) {
      if (isGone(error)) this.#end('lost');
      else this.#ending = false;
      throw error;
    }
    const { status } = this.#record.task;
    this.#end(status === 'completed' || status === 'failed' || status === 'cancelled' ? status : 'released');
    return this.#record;
  }

  /** Steps that do not end the task: that somebody else did, or holds it, is an interruption. */
  async #goesOn<T>(steps: () => Promise<T>): Promise<T> {
    this.signal.throwIfAborted();
    try {
      return await steps();
    } catch (error) {
      if (this.#ending || !isGone(error)) throw error;
      this.interrupt('lease_lost');
      throw this.signal.reason;
    }
  }

  /** A new checkpoint keeps the answers that are in the old one. */
  #withAnswers(checkpoint: unknown): unknown {
    if (typeof checkpoint !== 'object' || checkpoint === null || Array.isArray(checkpoint)) return checkpoint;
    const answers = this.#answers();
    return Object.keys(answers).length === 0 ? checkpoint : { [ANSWERS]: answers, ...checkpoint };
  }

  #answers(): Record<string, JsonObject> {
    return ((this.#checkpoint as JsonObject | null)?.[ANSWERS] ?? {}) as Record<string, JsonObject>;
  }
}

/** Whether a task ended, expired, or is in other hands. */
function isGone(error: unknown): boolean {
  if (error instanceof NotFoundError) return true;
  if (!(error instanceof ConflictError || error instanceof InvalidStateError)) return false;
  return error.reason === 'lease_lost' || error.reason === 'task_terminal';
}

/** Claims a task and keeps its lease; null when none came. */
export async function claimWork(
  manager: TaskManager,
  queues: string | readonly string[],
  given: ClaimWorkOptions,
): Promise<Work | null> {
  const { worker = workerName(), leaseMs = LEASE_MS, ...wait } = given;
  const claim = { worker, queues: typeof queues === 'string' ? [queues] : queues, leaseMs };
  const record = await manager.claimTask(claim, wait);
  return record === null ? null : new Work(manager, record, leaseMs);
}

/** Keeps the lease of a task that was created with one. */
export function holdWork(manager: TaskManager, record: TaskRecord, leaseMs: number = LEASE_MS): Work {
  return new Work(manager, record, leaseMs);
}
