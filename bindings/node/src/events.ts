/** Queues of events. */

import { Bell } from './changes.js';
import { ClosedError, closedWhileWaiting, TimeoutError } from './errors.js';
import { Handle } from './handle.js';
import type { Threads } from './threads.js';
import type { TaskEvent } from './types.js';
import { Alarm, Deadline, type WaitOptions } from './waits.js';

/**
 * A queue of what changes, from {@link TaskManager.openEvents} or {@link StateProvider.openEvents}. It is bounded: events of
 * one task coalesce, and where events had to be dropped, `{"event": "lagged"}` says so. It outlives what opened it.
 *
 * ```ts
 * await using events = await tasks.openEvents();
 * for await (const event of events) console.log(event.event, event.taskId);
 * ```
 */
export class TaskEvents extends Handle implements AsyncIterable<TaskEvent> {
  readonly #waiting: Set<Alarm>;
  readonly #bell: Bell;
  #watching = false;

  /** @internal */
  constructor(token: bigint, threads: Threads | null) {
    super(token, 'events_close', threads);
    const bell = new Bell(token);
    const waiting = new Set<Alarm>();
    this._resources.add(() => {
      bell.close();
      for (const alarm of waiting) alarm.ring();
    });
    this.#bell = bell;
    this.#waiting = waiting;
  }

  /**
   * Takes the next event, or waits for one. An aborted wait takes none.
   *
   * Source: `taskhold_events_next`.
   *
   * @throws {TimeoutError} no event came.
   * @throws {ClosedError} the queue is closed, or was while this waited.
   */
  async next(options: WaitOptions = {}): Promise<TaskEvent> {
    return JSON.parse(await this.nextJson(options)) as TaskEvent;
  }

  /** As {@link next}; gives the text. */
  async nextJson(options: WaitOptions = {}): Promise<string> {
    const deadline = new Deadline(options.timeoutMs);
    let waited = false;
    for (;;) {
      options.signal?.throwIfAborted();
      try {
        return await this._text('events_next', 0);
      } catch (error) {
        if (waited && error instanceof ClosedError) throw closedWhileWaiting();
        if (!(error instanceof TimeoutError) || deadline.passed) throw error;
      }
      waited = true;
      await this.#ring(deadline.left, options.signal);
    }
  }

  async #ring(ms: number, signal: AbortSignal | undefined): Promise<void> {
    if (this.closed) return;
    const alarm = new Alarm();
    this.#waiting.add(alarm);
    if (!this.#watching) {
      this.#watching = true;
      this.#bell.start(() => {
        // Whoever is woken looks, and watches again if nothing was there.
        this.#rest();
        for (const one of this.#waiting) one.ring();
      });
    }
    try {
      await alarm.sleep(ms, signal);
    } finally {
      this.#waiting.delete(alarm);
      if (this.#waiting.size === 0) this.#rest();
    }
  }

  #rest(): void {
    if (this.#watching) this.#bell.stop();
    this.#watching = false;
  }

  /** The events as they come; ends when the queue is closed. */
  async *[Symbol.asyncIterator](): AsyncGenerator<TaskEvent, void, void> {
    yield* this.follow();
  }

  /** The same, and ends when the signal is aborted: then it throws the signal's reason. */
  async *follow(signal?: AbortSignal): AsyncGenerator<TaskEvent, void, void> {
    for (;;) {
      try {
        yield await this.next({ signal });
      } catch (error) {
        if (error instanceof ClosedError) return;
        throw error;
      }
    }
  }
}
