/** Plays the cases of tests/vectors, which every language plays, in three ways and on every backend there is. */

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { describe } from 'taskhold';
import { NOT_BOUND } from '../dist/native.js';
import { FUNCTIONS } from './header.js';
import { type Case, load, readCase } from './vectors/files.js';
import { play, reached, WAYS, type Way } from './vectors/play.js';
import type { Value } from './vectors/values.js';

const cases = load();
// In memory where the system has a place for that: what is durable is tested elsewhere.
const folder = mkdtempSync(path.join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'taskhold-vectors-'));
const given = process.env['TASKHOLD_VECTOR_STORE'];
const options = process.env['TASKHOLD_VECTOR_STORE_OPTIONS'];
const only = process.env['TASKHOLD_VECTOR_CASE'] ?? '';
let played = 0;

after(() => rmSync(folder, { recursive: true, force: true }));

/** The stores that cases are played on; `{case}` is replaced by the number of the case. */
function targets(): string[] {
  if (given !== undefined && given !== '') return [given];
  const durable = describe().backends.includes('sqlite') ? [`sqlite:${folder}/{case}.db`] : [];
  return ['memory:', ...durable];
}

async function playFile(of: readonly Case[], way: Way, target: string): Promise<void> {
  const its = options ?? (target.startsWith('sqlite:') ? '{"durability":"normal"}' : null);
  const failures: string[] = [];
  for (const one of of) {
    const filled = (template: string): string => template.replaceAll('{case}', `${way}-${one.number}`);
    try {
      await play(one, way, filled(target), its === null ? null : filled(its));
    } catch (error) {
      failures.push((error as Error).message);
    }
    played += 1;
  }
  assert.equal(failures.length, 0, failures.join('\n'));
}

for (const target of targets()) {
  const backend = (target.split(':')[0] as string).replace('postgresql', 'postgres');
  const there = cases.filter(one => one.backends.includes(backend) && `${one.file}: ${one.name}`.includes(only));
  for (const way of WAYS) {
    // The raw way has nothing of the package in it, and its store is another's to test.
    if (way === 'raw' && backend !== 'memory') continue;
    // What needs raw calls is played in the raw way alone.
    const playable = there.filter(one => way === 'raw' || !one.raw);
    for (const file of new Set(playable.map(one => one.file))) {
      const own = playable.filter(one => one.file === file);
      test(`${backend}, ${way}: ${file}`, () => playFile(own, way, target));
    }
  }
}

test('the cases reach every function through the package', t => {
  t.diagnostic(`${played} cases were played`);
  if (only !== '') return;
  const callable = [...FUNCTIONS.keys()].filter(name => !NOT_BOUND.includes(name)).map(name => name.slice(9));
  assert.deepEqual(
    callable.filter(name => !reached.has(name)),
    // A queue's descriptor is the package's own to watch.
    ['string_free', 'events_fd'],
  );
});

const BROKEN: Value[] = [
  { call: 'manager_find_task', on: 'store', args: { unknown: 'x' } },
  { call: 'no_such_function' },
  { call: 'manager_find_task', on: 'nobody', args: { task_id: 'x' } },
  { call: 'store_stats', on: 'store', expect: { out: { resembles: {} } } },
  { call: 'store_stats', on: 'store', expect: { out: { exact: '$something' } } },
  { call: 'store_stats', on: 'store', expect: { status: 'fine' } },
  { call: 'store_stats', on: 'store', sometimes: true },
  { call: 'store_stats', on: 'store', expect: { out: { exact: 1.5 } } },
];

test('a mistake in a file is found', () => {
  for (const step of BROKEN) assert.throws(() => readCase('file', { name: 'x', about: 'y', steps: [step] }));
});

const WRONG: Value[] = [
  { status: 'timeout' },
  { out: { subset: { backend: 'another' } } },
  { out: { exact: {} } },
  { out: { null: true } },
  { out: { contains: ['no such words'] } },
  { out: { absent: ['/backend'] } },
];

test('a wrong expectation fails', async () => {
  for (const way of WAYS) {
    for (const expect of WRONG) {
      const steps = [{ call: 'store_stats', on: 'store', expect }];
      const one = readCase('file', { name: 'x', about: 'y', steps });
      await assert.rejects(play(one, way, 'memory:', null), /step 1/);
    }
  }
});
