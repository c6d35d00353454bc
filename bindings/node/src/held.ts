/** The leases of what is held through one manager: kept by a thread, so that a busy event loop loses none. */

import type { Worker } from 'node:worker_threads';
import type { Changes } from './changes.js';
import type { Resources } from './handle.js';
import type { LeaseNews, LeaseOrder } from './leases.js';
import { endThread, startThread } from './threads.js';

/** Why work is to stop. */
export type Interruption = 'cancelation_requested' | 'lease_lost' | 'stopping';

/** Work that is held. */
export interface Held {
  readonly taskId: string;
  readonly lease: number;
  readonly leaseMs: number;
  /** Tells it to stop. */
  interrupt(reason: Interruption): void;
}

/** Keeps the leases of one manager. */
export class Leases {
  readonly #held = new Map<string, { work: Held; leave: () => void }>();
  #thread: Worker | undefined;

  constructor(
    private readonly manager: bigint,
    resources: Resources,
  ) {
    resources.add(() => this.#end());
  }

  /** Starts the thread before there is anything to keep: on a busy machine that takes a while. */
  prepare(): void {
    this.#thread ??= this.#start();
  }

  /** Keeps the lease of this from now on. */
  add(work: Held, changes: Changes): void {
    const entry = { work, leave: (): void => {} };
    this.#held.set(work.taskId, entry);
    const { taskId, lease, leaseMs } = work;
    this.#order({ keep: { manager: this.manager, taskId, lease, leaseMs } });
    changes
      .join(taskId, event => {
        if (event === null) this.wakeAll();
        else if (event.event === 'cancelation_requested') work.interrupt('cancelation_requested');
      })
      .then(leave => {
        if (this.#held.get(taskId) === entry) entry.leave = leave;
        else leave();
      })
      .catch(() => {
        // The storage failed: the next renewal tells of a wish to cancel.
      });
  }

  /** Keeps it no longer. */
  remove(work: Held): void {
    const entry = this.#held.get(work.taskId);
    if (entry?.work !== work) return;
    this.#held.delete(work.taskId);
    entry.leave();
    this.#order({ drop: { manager: this.manager, taskId: work.taskId, lease: work.lease } });
  }

  /** Renews everything now: a manual clock was moved, or events were dropped. */
  wakeAll(): void {
    if (this.#held.size > 0) this.#order({ now: true });
  }

  #order(order: LeaseOrder): void {
    this.#thread ??= this.#start();
    this.#thread.postMessage(order);
  }

  #start(): Worker {
    const thread = startThread('leases');
    thread.on('message', ({ taskId, lease, reason }: LeaseNews) => {
      const work = this.#held.get(taskId)?.work;
      if (work?.lease === lease) work.interrupt(reason);
    });
    // Without the thread leases lapse, which the work is told by its next call.
    thread.on('error', () => this.#end());
    thread.unref();
    return thread;
  }

  #end(): void {
    if (this.#thread !== undefined) endThread(this.#thread);
    this.#thread = undefined;
  }
}
