/** Workers: a handler for each task of some queues, until they are told to stop. */

import { ClosedError, TaskholdError, UnavailableError } from './errors.js';
import type { TaskManager } from './manager.js';
import type { ObjectPayload } from './types.js';
import { Alarm } from './waits.js';
import { claimWork, Parked, type Work, WorkInterrupted, workerName } from './work.js';

/** After a storage failure. */
const PAUSE_MS = 1_000;

/** For work that was told to stop, before its task is given back all the same. */
const LAST_MS = 5_000;

/** Does the work on a task: what it gives completes the task, unless it ended the task itself; nothing stands for `{}`. */
export type WorkHandler = (work: Work) => Promise<ObjectPayload | undefined | void> | ObjectPayload | undefined | void;

/** How a worker works. */
export interface WorkerOptions {
  /** Most tasks at once; 1. */
  concurrency?: number;
  /** Stops the worker: it takes no more tasks. */
  signal?: AbortSignal;
  /** How long tasks that run have to end then, before they are interrupted and given back; 30000 milliseconds. */
  graceMs?: number;
  /** Who claims; host and process unless given. */
  worker?: string;
  /** How long a task is held after this process dies; 30000, renewed at a third. */
  leaseMs?: number;
  /** Hears of attempts that failed, and of storage failures; prints them unless given. */
  onError?: (error: unknown, work: Work | null) => void;
}

/** Claims tasks and calls the handler with each, until the signal is aborted. */
export async function runWorker(
  manager: TaskManager,
  queues: string | readonly string[],
  handler: WorkHandler,
  given: WorkerOptions,
): Promise<void> {
  const { concurrency = 1, signal, graceMs = 30_000, worker = workerName(), leaseMs = 30_000 } = given;
  const report = given.onError ?? ((error: unknown) => console.error('taskhold: the work on a task failed:', error));
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  const running = new Set<Work>();
  const pause = new Alarm();

  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      let work: Work | null;
      try {
        work = await claimWork(manager, queues, { worker, leaseMs, signal: stopping.signal });
      } catch (error) {
        if (stopping.signal.aborted || error instanceof ClosedError) return;
        if (!(error instanceof UnavailableError)) throw error;
        report(error, null);
        await pause.sleep(PAUSE_MS, stopping.signal).catch(() => {});
        continue;
      }
      if (work === null) continue;
      running.add(work);
      await runOne(work, handler, report).finally(() => running.delete(work));
    }
  };

  if (signal?.aborted) return;
  manager._leases.prepare();
  signal?.addEventListener('abort', stop, { once: true });
  try {
    // By itself one ends only when the manager is closed or a claim is refused: then all do.
    const loops = Array.from({ length: concurrency }, () => loop().finally(stop));
    const ended = Promise.allSettled(loops);
    await new Promise<void>(resolve => stopping.signal.addEventListener('abort', () => resolve(), { once: true }));
    if (!(await within(ended, graceMs))) {
      for (const work of running) work.interrupt('stopping');
      if (!(await within(ended, LAST_MS))) await giveBack(running);
    }
    const failed = await Promise.race([ended, Promise.resolve([])]);
    for (const one of failed) if (one.status === 'rejected') throw one.reason;
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}

async function runOne(work: Work, handler: WorkHandler, report: (error: unknown, work: Work) => void): Promise<void> {
  let interruption = false;
  try {
    const result = await handler(work);
    if (work.outcome === null) await work.complete(result ?? {});
  } catch (error) {
    interruption = error instanceof WorkInterrupted || (work.interrupted !== null && work.signal.reason === error);
    interruption ||= work.interrupted !== null && (error as Error | null)?.name === 'AbortError';
    if (!interruption && !(error instanceof Parked)) report(error, work);
  }
  try {
    await work._settle(interruption);
  } catch (error) {
    // The lease lapses.
    report(error, work);
  }
}

/** Gives back what goes on with handlers that do not stop: whatever they do to the task is refused. */
async function giveBack(running: ReadonlySet<Work>): Promise<void> {
  for (const work of running) {
    await work.release({ countsAsAttempt: false }).catch((error: unknown) => {
      if (!(error instanceof TaskholdError)) throw error;
    });
  }
}

/** Whether a promise is settled within a time. */
async function within(promise: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>(resolve => {
    timer = setTimeout(() => resolve(false), ms);
  });
  const done = await Promise.race([promise.then(() => true), late]);
  clearTimeout(timer);
  return done;
}
