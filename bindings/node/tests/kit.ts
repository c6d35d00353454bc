/** What the tests of the methods share. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';

/** A folder that goes with the test. */
export function folder(t: TestContext): string {
  const made = mkdtempSync(path.join(tmpdir(), 'taskhold-'));
  t.after(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** A test on memory and on SQLite; `url` is that of a new store. */
export function onBoth(name: string, body: (url: string, t: TestContext) => Promise<void>): void {
  test(`${name}, in memory`, t => body('memory:', t));
  test(`${name}, over SQLite`, t => body(`sqlite:${path.join(folder(t), 'store.db')}`, t));
}

/** Waits until something holds; the test's own time limit ends a wait in vain. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise(resolve => setTimeout(resolve, 5));
}

/** A promise, and what settles it. */
export function deferred<T = void>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>(take => {
    resolve = take;
  });
  return { promise, resolve };
}

/** Whether a promise is settled by now. */
export async function settled(promise: Promise<unknown>): Promise<boolean> {
  const open = Symbol('open');
  return (await Promise.race([promise.catch(() => {}), Promise.resolve(open)])) !== open;
}
