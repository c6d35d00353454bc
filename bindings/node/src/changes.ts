/**
 * The changes of one manager or provider, for all who wait there: one queue of events, watched by the event loop. No
 * thread waits. What tells of a change is the queue's descriptor; where the platform has none, and for what only time
 * tells (a lease that lapses), the queue is looked at now and then while somebody waits.
 */

import { isMainThread } from 'node:worker_threads';
import * as koffi from 'koffi';
import { drain } from './drain.js';
import { checked, type Resources } from './handle.js';
import { library, type Name } from './native.js';
import type { Threads } from './threads.js';
import type { TaskEvent } from './types.js';

/** Between looks at a queue that somebody waits for. */
const LOOK_MS = 250;

/** The same on platforms without a descriptor, and in worker threads. */
const LOOK_WITHOUT_DESCRIPTOR_MS = 25;

/** Tasks that change between two turns of the loop; if more do, everyone looks. */
const CAPACITY = 1024;

/** Those that are watched. One that rings while Node takes down its environment would end the process by a signal. */
const watched = new Set<Bell>();
if (isMainThread) {
  process.on('exit', () => {
    for (const bell of watched) bell.stop();
  });
}

/**
 * Rings when a queue of events may have some. The loop watches the queue's descriptor from `start` to `stop`, and keeps the
 * process alive meanwhile.
 */
export class Bell {
  readonly #descriptor: number | null;
  #poll: koffi.node.PollHandle | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(queue: bigint) {
    // Nothing tells a worker thread that it is terminated, so there no descriptor is watched.
    const answer = isMainThread ? library.invoke('events_fd', [queue]) : undefined;
    this.#descriptor = answer?.status === 0 ? Number(answer.value) : null;
  }

  /** Watches, unless it does. */
  start(ready: () => void): void {
    if (this.#closed || this.#timer !== undefined) return;
    watched.add(this);
    if (this.#descriptor !== null) this.#poll = koffi.node.poll(this.#descriptor, { readable: true }, ready);
    this.#timer = setInterval(ready, this.#descriptor === null ? LOOK_WITHOUT_DESCRIPTOR_MS : LOOK_MS);
  }

  /** Watches no more, and keeps nothing that `ready` refers to. */
  stop(): void {
    if (this.#timer === undefined) return;
    watched.delete(this);
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#poll?.close();
    this.#poll = undefined;
  }

  /** Never watches again. Before the queue is closed, whose the descriptor is. */
  close(): void {
    this.stop();
    this.#closed = true;
  }
}

/** Hears of an event; null says to look at everything. */
export type Listener = (event: TaskEvent | null) => void;

/** Those who wait for the changes of one manager or provider. */
export class Changes {
  readonly #listeners = new Set<Listener>();
  readonly #byTask = new Map<string, Set<Listener>>();
  #opening: Promise<void> | undefined;
  #queue: bigint | undefined;
  #bell: Bell | undefined;
  #watching = false;
  #closed = false;

  /**
   * @param opens the function that opens a queue.
   * @param of the handle that it is called on.
   * @param threads where calls are made.
   * @param resources of whom this is part.
   */
  constructor(
    private readonly opens: Name,
    private readonly of: bigint,
    private readonly threads: Threads | null,
    resources: Resources,
  ) {
    resources.add(() => this.close());
  }

  /** Waits in line for a task, or for all of them with null; gives how to leave. Nothing is missed from then on. */
  async join(taskId: string | null, listener: Listener): Promise<() => void> {
    this.#opening ??= this.#open();
    try {
      await this.#opening;
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
    const line = taskId === null ? this.#listeners : this.#line(taskId);
    line.add(listener);
    this.#watch();
    return () => {
      line.delete(listener);
      if (taskId !== null && line.size === 0 && this.#byTask.get(taskId) === line) this.#byTask.delete(taskId);
      if (this.#listeners.size === 0 && this.#byTask.size === 0) this.#rest();
    };
  }

  /** Has everyone look. */
  wakeAll(): void {
    for (const listener of this.#listeners) listener(null);
    for (const line of this.#byTask.values()) for (const listener of line) listener(null);
  }

  /** Closes the queue, and has everyone look. */
  close(): void {
    this.#closed = true;
    this.#rest();
    this.#bell?.close();
    if (this.#queue !== undefined) library.invoke('events_close', [this.#queue]);
    this.wakeAll();
  }

  #line(taskId: string): Set<Listener> {
    const line = this.#byTask.get(taskId) ?? new Set<Listener>();
    this.#byTask.set(taskId, line);
    return line;
  }

  async #open(): Promise<void> {
    const args = [this.of, CAPACITY];
    const answer =
      this.threads === null ? library.invoke(this.opens, args) : await this.threads.call({ name: this.opens, args });
    const queue = checked(answer).value;
    if (this.#closed) {
      // Closed while it was opened: whoever waits finds that out by a look.
      library.invoke('events_close', [queue]);
      return;
    }
    this.#queue = queue;
    this.#bell = new Bell(queue);
  }

  #watch(): void {
    if (this.#watching || this.#closed) return;
    this.#watching = true;
    this.#bell?.start(() => this.#ready());
  }

  #rest(): void {
    if (!this.#watching) return;
    this.#watching = false;
    this.#bell?.stop();
  }

  #ready(): void {
    const queue = this.#queue as bigint;
    if (this.threads === null) {
      this.#tell(drain(library, queue, CAPACITY).text ?? '');
      return;
    }
    // Not watched meanwhile: the descriptor stays readable until the events are taken.
    this.#bell?.stop();
    const job = { name: 'events_next', args: [queue], most: CAPACITY } as const;
    this.threads.call(job).then(
      answer => this.#goOn(answer.text ?? ''),
      () => this.#goOn(''),
    );
  }

  #goOn(lines: string): void {
    if (this.#watching) this.#bell?.start(() => this.#ready());
    this.#tell(lines);
  }

  #tell(lines: string): void {
    if (lines === '') return;
    for (const line of lines.split('\n')) {
      const event = JSON.parse(line) as TaskEvent;
      if (event.taskId === undefined) {
        this.wakeAll();
        return;
      }
      for (const listener of this.#listeners) listener(event);
      for (const listener of this.#byTask.get(event.taskId) ?? []) listener(event);
    }
  }
}
