/**
 * Keeps the leases of all work that is held through one manager in this process, by one call for all of it, at a third
 * of their length. In a thread, so that an event loop that is kept busy by a long step keeps its leases all the same.
 */

import type { MessagePort } from 'node:worker_threads';
import type { Library } from './native.js';

/** Work that is held. */
export interface HeldLease {
  readonly manager: bigint;
  readonly taskId: string;
  readonly lease: number;
  readonly leaseMs: number;
}

/** To the thread: keep a lease, keep it no longer, or renew everything now; null ends it. */
export type LeaseOrder =
  | { readonly keep: HeldLease }
  | { readonly drop: Pick<HeldLease, 'manager' | 'taskId' | 'lease'> }
  | { readonly now: true }
  | null;

/** From the thread: why work is to stop. */
export interface LeaseNews {
  readonly manager: bigint;
  readonly taskId: string;
  readonly lease: number;
  readonly reason: 'lease_lost' | 'cancelation_requested';
}

interface Outcome {
  readonly lost: string[];
  readonly cancelationRequested: string[];
}

/** Most tasks that one call renews. */
const AT_ONCE = 1000;

/** Leases of one manager and one length, which are renewed together. */
class Group {
  readonly #held = new Map<string, HeldLease>();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly library: Library,
    private readonly port: MessagePort,
    private readonly manager: bigint,
    private readonly leaseMs: number,
  ) {}

  keep(lease: HeldLease): void {
    this.#held.set(lease.taskId, lease);
    // Once at once: a client may have asked for cancelation since the claim.
    this.#timer ??= setTimeout(() => this.renew(), 0);
  }

  /** Gives whether nothing is held any more. */
  drop(taskId: string, lease: number): boolean {
    if (this.#held.get(taskId)?.lease === lease) this.#held.delete(taskId);
    if (this.#held.size > 0) return false;
    this.end();
    return true;
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  renew(): void {
    clearTimeout(this.#timer);
    const begun = performance.now();
    let pause = this.leaseMs / 3;
    const held = [...this.#held.values()];
    for (let at = 0; at < held.length; at += AT_ONCE) {
      const tasks = held.slice(at, at + AT_ONCE).map(({ taskId, lease }) => ({ taskId, lease }));
      const renewals = JSON.stringify({ leaseMs: this.leaseMs, tasks });
      const answer = this.library.invoke('manager_renew_leases', [this.manager, renewals]);
      if (answer.text === null) {
        // The storage failed: again soon. Whether a lease is lost meanwhile is not known here.
        pause = this.leaseMs / 10;
        continue;
      }
      const outcome = JSON.parse(answer.text) as Outcome;
      this.#tell(outcome.lost, 'lease_lost');
      this.#tell(outcome.cancelationRequested, 'cancelation_requested');
    }
    this.#timer = setTimeout(() => this.renew(), Math.max(1, pause - (performance.now() - begun)));
  }

  #tell(taskIds: string[], reason: LeaseNews['reason']): void {
    for (const taskId of taskIds) {
      const lease = this.#held.get(taskId)?.lease;
      if (lease === undefined) continue;
      if (reason === 'lease_lost') this.#held.delete(taskId);
      this.port.postMessage({ manager: this.manager, taskId, lease, reason } satisfies LeaseNews);
    }
  }
}

/** Serves the orders that come through a port. */
export function keepLeases(library: Library, port: MessagePort): void {
  const groups = new Map<string, Group>();
  port.on('message', (order: LeaseOrder) => {
    if (order === null) {
      for (const group of groups.values()) group.end();
      port.close();
    } else if ('now' in order) {
      for (const group of groups.values()) group.renew();
    } else if ('keep' in order) {
      const { manager, leaseMs } = order.keep;
      const key = `${manager}/${leaseMs}`;
      const group = groups.get(key) ?? new Group(library, port, manager, leaseMs);
      groups.set(key, group);
      group.keep(order.keep);
    } else {
      const { manager, taskId, lease } = order.drop;
      for (const [key, group] of groups) {
        if (key.startsWith(`${manager}/`) && group.drop(taskId, lease)) groups.delete(key);
      }
    }
  });
}
