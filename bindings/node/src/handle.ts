/**
 * What everything that is opened has in common.
 *
 * A handle of the library is a token that is never followed as an address, so an object needs no check of its own: after
 * `close()` the library refuses the call.
 */

import { fromNative } from './errors.js';
import { type Answer, type Argument, library, type Name } from './native.js';
import { markAsUncloneable } from './platform.js';
import type { Threads } from './threads.js';

/** What is let go of when an object is closed, or was dropped. It must not refer to the object. */
export class Resources {
  readonly #steps: (() => void)[] = [];
  closed = false;

  /** Adds a step, or takes it at once if all of this is closed. */
  add(step: () => void): void {
    if (this.closed) step();
    else this.#steps.push(step);
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    for (const step of this.#steps.splice(0).reverse()) step();
  }
}

const dropped = new FinalizationRegistry<Resources>(resources => resources.close());

/** Throws the error of a call that failed. */
export function checked(answer: Answer): Answer {
  if (answer.status !== 0) throw fromNative(answer.status, answer.error);
  return answer;
}

/** Makes a call in place. */
export function call(name: Name, ...args: Argument[]): Answer {
  return checked(library.invoke(name, args));
}

/**
 * Something that was opened. `close()` never blocks; calls that wait end with {@link ClosedError}. An object that is
 * dropped is closed by the garbage collector, at some time: close it, or declare it with `await using`.
 */
export abstract class Handle {
  /** @internal */
  readonly _token: bigint;
  /** @internal */
  readonly _resources = new Resources();
  /**
   * Where calls are made; null makes them in place.
   * @internal
   */
  readonly _threads: Threads | null;

  /** @internal */
  constructor(token: bigint, close: Name, threads: Threads | null) {
    this._token = token;
    this._threads = threads;
    if (threads !== null) {
      threads.hold();
      this._resources.add(() => threads.release());
    }
    this._resources.add(() => {
      library.invoke(close, [token]);
    });
    dropped.register(this, this._resources, this);
    markAsUncloneable(this);
  }

  /** Closes it. Closing again is fine. */
  close(): void {
    this._resources.close();
    dropped.unregister(this);
  }

  /** Whether this object was closed. */
  get closed(): boolean {
    return this._resources.closed;
  }

  /** Closes it, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }

  /** Closes it, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    this.close();
    return Promise.resolve();
  }

  /** Makes a call on this handle: in place on memory, in a thread on a durable store. @internal */
  async _call(name: Name, ...args: Argument[]): Promise<Answer> {
    const all = [this._token, ...args];
    return checked(this._threads === null ? library.invoke(name, all) : await this._threads.call({ name, args: all }));
  }

  /** Makes a call that gives a text out. @internal */
  async _text(name: Name, ...args: Argument[]): Promise<string> {
    return (await this._call(name, ...args)).text as string;
  }
}
