/**
 * The threads of one store: calls that may wait for a disk are made there, so that they neither block the event loop nor
 * take one of the four threads that libuv has for files and names. They start when they are first needed, do not keep
 * the process alive while they are idle, and go to the next store when the last object over theirs is closed.
 */

import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { InternalError } from './errors.js';
import { type Answer, type Argument, library, type Name } from './native.js';

/** Enough for the group commit of a durable store; more threads would only wait for its lock. */
const MOST_THREADS = 4;

/** A call for a thread. */
export interface Job {
  readonly name: Name;
  readonly args: readonly Argument[];
  /** Of `events_next`: take at most so many events, and give them as lines. */
  readonly most?: number;
}

interface Waiting {
  readonly job: Job;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

/** What a thread is started with. */
export interface ThreadData {
  readonly role: 'calls' | 'leases';
  /** 1 once the thread has loaded the library. */
  readonly loaded: Int32Array;
}

/**
 * Threads that load the library. Ended meanwhile, one would take the process with it, by a signal: they are waited for at the
 * end of the process, and otherwise end by themselves when they are told to.
 */
const loading = new Set<Int32Array>();
const LONGEST_LOAD_MS = 10_000;
process.on('exit', () => {
  for (const loaded of loading) Atomics.wait(loaded, 0, 0, LONGEST_LOAD_MS);
});

/** Starts one of the package's own threads. */
export function startThread(role: ThreadData['role']): Worker {
  const loaded = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  loading.add(loaded);
  const worker = new Worker(path.join(__dirname, 'thread.js'), {
    workerData: { role, loaded } satisfies ThreadData,
    // Whatever this process was started with is for its own program.
    execArgv: [],
    env: { ...process.env, TASKHOLD_LIBRARY: library.path },
    name: `taskhold-${role}`,
  });
  worker.unref();
  worker.on('exit', () => loading.delete(loaded));
  return worker;
}

/** Tells a thread to end. */
export function endThread(worker: Worker): void {
  worker.postMessage(null);
}

/** A thread that makes one call at a time. */
class CallThread {
  readonly #worker = startThread('calls');
  #waiting: Waiting | undefined;
  #done: () => void = () => {};
  lost = false;

  constructor() {
    this.#worker.on('message', (answer: Answer) => {
      const waiting = this.#waiting;
      this.#waiting = undefined;
      this.#worker.unref();
      this.#done();
      waiting?.resolve(answer);
    });
    this.#worker.on('error', cause => this.#lose(cause));
    this.#worker.on('exit', () => this.#lose(undefined));
  }

  /** Makes a call; `done` is told before the answer is. */
  run(waiting: Waiting, done: () => void): void {
    this.#waiting = waiting;
    this.#done = done;
    this.#worker.ref();
    this.#worker.postMessage(waiting.job);
  }

  end(): void {
    endThread(this.#worker);
  }

  #lose(cause: unknown): void {
    this.lost = true;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting === undefined) return;
    this.#done();
    const details = { reason: 'system_resource' };
    waiting.reject(new InternalError('the thread that made this call ended', details, { cause }));
  }
}

/** Threads that no store uses any more; the next one that is opened takes them. */
const spare: CallThread[] = [];

/** The threads in which the calls of one store are made. */
export class Threads {
  readonly #idle: CallThread[] = [];
  readonly #queue: Waiting[] = [];
  #running = 0;
  #users = 0;

  /** Keeps the threads for one more object. */
  hold(): void {
    this.#users += 1;
  }

  /** Lets go of them; without users the idle ones are given away. */
  release(): void {
    this.#users -= 1;
    if (this.#users === 0) this.#giveAway();
  }

  /** Makes a call in a thread. */
  call(job: Job): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ job, resolve, reject });
      this.#next();
    });
  }

  #next(): void {
    while (this.#queue.length > 0) {
      const thread = this.#idle.pop() ?? (this.#running < MOST_THREADS ? start() : undefined);
      if (thread === undefined) return;
      this.#running += 1;
      thread.run(this.#queue.shift() as Waiting, () => {
        this.#running -= 1;
        if (!thread.lost) this.#idle.push(thread);
        this.#next();
      });
    }
    if (this.#users === 0) this.#giveAway();
  }

  #giveAway(): void {
    for (const thread of this.#idle.splice(0)) {
      if (spare.length < MOST_THREADS) spare.push(thread);
      else thread.end();
    }
  }
}

function start(): CallThread {
  let thread = spare.pop();
  while (thread?.lost) thread = spare.pop();
  return thread ?? new CallThread();
}
