/** Queued work on a task manager: claiming it, keeping leases, giving it back. */

import type { Changes } from './changes.js';
import { ClosedError, closedWhileWaiting } from './errors.js';
import { text } from './json.js';
import { ProtocolCalls, payload } from './protocol.js';
import type { ClaimOptions, ReleaseOptions, RenewalOutcome, Renewals, TaskRecord } from './types.js';
import { Alarm, Deadline, type WaitOptions } from './waits.js';

/**
 * Between looks at what becomes claimable without an event: by its time, by a lapse, by a release. One waiter for each
 * list of queues looks.
 */
const LOOK_MS = 250;

/** Those who wait for a task of the same queues, in line. */
type Line = Set<Alarm>;

/** The calls about queued work. */
export abstract class QueueCalls extends ProtocolCalls {
  /** @internal */
  abstract readonly _changes: Changes;
  readonly #lines = new Map<string, Line>();

  /**
   * Claims a task that was created with a `queue`: of the first of these queues that has one, the one that became
   * available first. Each task goes to one claimer; the answer's `lease.token` is needed to move it on. {@link claim} keeps
   * the lease and gives the task back by itself.
   *
   * Source: `taskhold_manager_claim_task`.
   *
   * @param claim who claims, from which queues, and for how long.
   * @param wait how long to wait for a task. An aborted wait holds none.
   * @returns the record, or null when no task came.
   * @throws {InvalidArgumentError} the claim is malformed.
   * @throws {ClosedError} the manager was closed.
   */
  async claimTask(claim: ClaimOptions, wait: WaitOptions = {}): Promise<TaskRecord | null> {
    return JSON.parse((await this.claimTaskJson(claim, wait)) ?? 'null') as TaskRecord | null;
  }

  /** As {@link claimTask}; gives the text. */
  async claimTaskJson(claim: ClaimOptions, wait: WaitOptions = {}): Promise<string | null> {
    const { signal } = wait;
    const written = payload(claim);
    const deadline = new Deadline(wait.timeoutMs);
    signal?.throwIfAborted();
    const look = async (): Promise<string | null> => {
      const record = (await this._call('manager_claim_task', written, 0)).text;
      if (record !== null && signal?.aborted) {
        await this.#unclaim(record);
        signal.throwIfAborted();
      }
      return record;
    };
    const record = await look();
    if (record !== null || deadline.passed) return record;
    try {
      return await this.#inLine(JSON.stringify(claim.queues), look, deadline, signal);
    } catch (error) {
      if (error instanceof ClosedError) throw closedWhileWaiting();
      throw error;
    }
  }

  async #inLine(
    queues: string,
    look: () => Promise<string | null>,
    deadline: Deadline,
    signal: AbortSignal | undefined,
  ): Promise<string | null> {
    const line = this.#lines.get(queues) ?? new Set<Alarm>();
    this.#lines.set(queues, line);
    const alarm = new Alarm();
    line.add(alarm);
    const leave = await this._changes
      .join(null, event => {
        // Which queue it was is not known. Whoever finds a task has the next one look, so one of each line is enough.
        if (event?.event !== 'cancelation_requested' && first(line) === alarm) alarm.ring();
      })
      .catch((error: unknown) => {
        line.delete(alarm);
        throw error;
      });
    try {
      for (;;) {
        const record = await look();
        if (record !== null || deadline.passed) return record;
        do {
          await alarm.sleep(Math.min(LOOK_MS, deadline.left), signal);
        } while (first(line) !== alarm && !deadline.passed && !alarm.rung && !this.closed);
      }
    } finally {
      leave();
      line.delete(alarm);
      if (line.size === 0) this.#lines.delete(queues);
      // What this one was woken for may be another's, and there may be more behind what it found.
      first(line)?.ring();
    }
  }

  /** Gives back what came for a wait that was given up. */
  async #unclaim(record: string): Promise<void> {
    const { task, lease } = JSON.parse(record) as TaskRecord;
    const token = lease?.token as number;
    await this.releaseTaskJson(task.taskId, { lease: token, countsAsAttempt: false }).catch(() => {
      // Then the lease lapses.
    });
  }

  /**
   * Renews leases: sets the end of each to `leaseMs` from now. At a third of the lease; {@link claim} does it by itself.
   *
   * Source: `taskhold_manager_renew_leases`.
   *
   * @param renewals 1 to 1000 tasks, none twice, with the tokens of their leases.
   * @throws {InvalidArgumentError} the renewals are malformed.
   * @throws {LimitExceededError} the checkpoints are too large: nothing was renewed.
   */
  async renewLeases(renewals: Renewals): Promise<RenewalOutcome> {
    return JSON.parse(await this.renewLeasesJson(renewals)) as RenewalOutcome;
  }

  /** As {@link renewLeases}; gives the text. */
  async renewLeasesJson(renewals: Renewals): Promise<string> {
    return this._text('manager_renew_leases', payload(renewals));
  }

  /**
   * Gives a held task back to its queue. With no attempt left it is failed, and cancelled where the client asked for that.
   *
   * Source: `taskhold_manager_release_task`.
   *
   * @returns the record after the change.
   * @throws {NotFoundError} no such task, or it expired.
   * @throws {InvalidStateError} `task_terminal`, `lease_required`, `not_queued`.
   * @throws {ConflictError} the lease is lost.
   * @throws {InvalidArgumentError} an option is malformed.
   */
  async releaseTask(taskId: string, options: ReleaseOptions): Promise<TaskRecord> {
    return JSON.parse(await this.releaseTaskJson(taskId, options)) as TaskRecord;
  }

  /** As {@link releaseTask}; gives the text. */
  async releaseTaskJson(taskId: string, options: ReleaseOptions): Promise<string> {
    return this._text('manager_release_task', text(taskId), payload(options));
  }

  /** @internal */
  async _look(taskId: string, seen: bigint): Promise<string> {
    return this._text('manager_wait_task', taskId, seen, 0);
  }
}

function first(line: Line): Alarm | undefined {
  return line.values().next().value;
}
