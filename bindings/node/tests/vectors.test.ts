/** Plays the cases of tests/vectors, which every language plays, in three ways and on every backend there is. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
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
const server = describe().backends.includes('postgres') ? process.env['TASKHOLD_TEST_POSTGRES'] : undefined;
const only = process.env['TASKHOLD_VECTOR_CASE'] ?? '';
let played = 0;

after(() => rmSync(folder, { recursive: true, force: true }));

/** The stores that cases are played on; `{case}` is replaced by the number of the case. */
function targets(): string[] {
  if (given !== undefined && given !== '') return [given];
  const durable = describe().backends.includes('sqlite') ? [`sqlite:${folder}/{case}.db`] : [];
  return ['memory:', ...durable, ...(server === undefined ? [] : [server])];
}

/** The options of the stores; `{case}` is replaced as in the target. */
function optionsFor(target: string): string | null {
  if (options !== undefined) return options;
  if (target === server) return '{"schema":"node_{case}"}';
  return target.startsWith('sqlite:') ? '{"durability":"normal"}' : null;
}

/** Whether the case is played in this way. What needs raw calls is played in the raw way alone. */
function isPlayed(one: Case, way: Way, target: string): boolean {
  // Over a server each case is played in one way, in turn: most of its time goes to making the store.
  if (target === server) return !one.raw && way === WAYS[1 + (one.number % (WAYS.length - 1))];
  return way === 'raw' || !one.raw;
}

/** Schemas of the server that cases are done with. */
const done: string[] = [];

function drop(atLeast: number): void {
  if (server === undefined || done.length < atLeast) return;
  const commands = done.splice(0).flatMap(schema => ['-c', `DROP SCHEMA IF EXISTS "${schema}" CASCADE`]);
  execFileSync('psql', ['-X', '-q', ...commands, server], { stdio: 'ignore' });
}

after(() => drop(1));

async function playFile(of: readonly Case[], way: Way, target: string): Promise<void> {
  const its = optionsFor(target);
  const failures: string[] = [];
  for (const one of of) {
    const filled = (template: string): string => template.replaceAll('{case}', `${way}_${one.number}`);
    try {
      await play(one, way, filled(target), its === null ? null : filled(its));
    } catch (error) {
      failures.push((error as Error).message);
    }
    played += 1;
    if (target === server) {
      done.push(`node_${way}_${one.number}`);
      drop(50);
    }
  }
  assert.equal(failures.length, 0, failures.join('\n'));
}

for (const target of targets()) {
  const backend = (target.split(':')[0] as string).replace('postgresql', 'postgres');
  const there = cases.filter(one => one.backends.includes(backend) && `${one.file}: ${one.name}`.includes(only));
  for (const way of WAYS) {
    // The raw way has nothing of the package in it, and its store is another's to test.
    if (way === 'raw' && backend !== 'memory') continue;
    const playable = there.filter(one => isPlayed(one, way, target));
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
