/** Waiting: for a task to change, for an event, for a time. Each wait can be given up by an `AbortSignal`. */

import type { Changes } from './changes.js';
import { ClosedError, closedWhileWaiting, InvalidArgumentError, TimeoutError } from './errors.js';

/** How long to wait, and what gives up the wait. */
export interface WaitOptions {
  /** Longest wait in milliseconds of real time; without it the wait has no end, 0 looks and returns. */
  timeoutMs?: number | undefined;
  /** Gives up the wait: the promise rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** Longest time without a look, should the wall clock be stepped while somebody waits for an expiry. */
const LONGEST_PAUSE_MS = 60_000;

/** Between looks at a task that should have expired by the wall clock and has not. */
const SHORTEST_PAUSE_MS = 1_000;

/** When a wait has to end. */
export class Deadline {
  readonly #at: number;

  constructor(timeoutMs: number | undefined) {
    if (timeoutMs !== undefined && !(timeoutMs >= 0)) {
      const details = { reason: 'invalid_value', key: 'timeoutMs', limit: 0 };
      throw new InvalidArgumentError('a timeout is 0 or more milliseconds', details);
    }
    this.#at = timeoutMs === undefined ? Number.POSITIVE_INFINITY : performance.now() + timeoutMs;
  }

  /** Milliseconds that are left; 0 when it has passed. */
  get left(): number {
    return Math.max(0, this.#at - performance.now());
  }

  get passed(): boolean {
    return this.left === 0;
  }
}

/** What can be woken. */
export class Alarm {
  #wake: (() => void) | undefined;
  #rung = false;

  /** Wakes it, or has its next sleep end at once. */
  readonly ring = (): void => {
    this.#rung = true;
    this.#wake?.();
  };

  /** Whether it was rung since the last sleep began. */
  get rung(): boolean {
    return this.#rung;
  }

  /** Sleeps until it is rung, at most so long; rejects when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      if (this.#rung) {
        this.#rung = false;
        resolve();
        return;
      }
      const end = (): void => {
        clearTimeout(timer);
        this.#wake = undefined;
        signal?.removeEventListener('abort', aborted);
      };
      const aborted = (): void => {
        end();
        reject(signal?.reason);
      };
      const timer = setTimeout(
        () => {
          end();
          resolve();
        },
        Math.min(ms, LONGEST_PAUSE_MS),
      );
      this.#wake = () => {
        this.#rung = false;
        end();
        resolve();
      };
      signal?.addEventListener('abort', aborted);
    });
  }
}

/** What somebody waits for. */
export interface Wait<T> {
  readonly changes: Changes;
  readonly taskId: string;
  /** Gives the answer, or throws a {@link TimeoutError} while there is none. */
  readonly look: () => Promise<T>;
  /** When, as `Date.now()` counts, a look is due though nothing tells of it; null for never. */
  readonly expires: () => Promise<number | null>;
}

/** Gives what `look` gives as soon as it does not end in a timeout. */
export async function waitFor<T>(wait: Wait<T>, options: WaitOptions = {}): Promise<T> {
  const { signal } = options;
  const deadline = new Deadline(options.timeoutMs);
  signal?.throwIfAborted();
  const first = await tried(wait.look, deadline);
  if (first !== undefined) return first.found;
  const alarm = new Alarm();
  try {
    // In line before the next look, so that no change is missed.
    const leave = await wait.changes.join(wait.taskId, alarm.ring);
    try {
      let expiry: number | null | undefined;
      for (;;) {
        signal?.throwIfAborted();
        const look = await tried(wait.look, deadline);
        if (look !== undefined) return look.found;
        if (expiry === undefined) expiry = await wait.expires();
        await alarm.sleep(Math.min(deadline.left, untilExpiry(expiry)), signal);
      }
    } finally {
      leave();
    }
  } catch (error) {
    if (error instanceof ClosedError) throw closedWhileWaiting();
    throw error;
  }
}

async function tried<T>(look: () => Promise<T>, deadline: Deadline): Promise<{ found: T } | undefined> {
  try {
    return { found: await look() };
  } catch (error) {
    if (!(error instanceof TimeoutError) || deadline.passed) throw error;
    return undefined;
  }
}

function untilExpiry(expiry: number | null): number {
  if (expiry === null) return LONGEST_PAUSE_MS;
  const left = expiry - Date.now();
  return left > 0 ? left : SHORTEST_PAUSE_MS;
}
