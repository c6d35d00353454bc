/** Objects: closing, dropping, threads and processes. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { describe, ManualClock, SessionStore, StateProvider, Store, TaskManager } from 'taskhold';
import { find } from '../dist/native.js';
import { folder, onBoth, until } from './kit.js';

const creation = { endpoint: '/mcp', origin: {} };

/** Runs a program of `tests/processes` to its end. */
function run(program: string, args: string[] = [], options: string[] = []): { stdout: string; status: number | null } {
  const file = path.join(__dirname, 'processes', program);
  const done = spawnSync(process.execPath, [...options, file, ...args], { encoding: 'utf8', timeout: 60_000 });
  assert.equal(done.stderr, '');
  return done;
}

onBoth('closing again is fine, and what was opened over a store goes on', async url => {
  const store = await Store.open(url);
  const opened = [
    store,
    await TaskManager.open(store),
    await SessionStore.open(store),
    await StateProvider.open(store),
    new ManualClock(),
  ];
  store.close();
  const [, tasks, sessions, agent] = opened as [Store, TaskManager, SessionStore, StateProvider];
  await tasks.createTask(creation);
  assert.notEqual(await sessions.create('/mcp'), null);
  assert.equal(await agent.saveTask(null, { id: 't', status: { state: 'working' } }), 1);
  await assert.rejects(store.stats(), { name: 'ClosedError', reason: 'closed' });
  for (const one of opened) {
    one.close();
    one.close();
    one[Symbol.dispose]();
    await one[Symbol.asyncDispose]();
    assert.equal(one.closed, true);
  }
});

onBoth('nothing stays open', async url => {
  const before = describe().liveHandles;
  {
    await using store = await Store.open(url);
    await using tasks = await TaskManager.open(store);
    await using agent = await StateProvider.open(store);
    await using events = await tasks.openEvents();
    const record = await tasks.createTask(creation);
    await tasks.waitTask(record.task.taskId, record.revision, { timeoutMs: 1 }).catch(() => {});
    await agent.saveTask(null, { id: 't', status: { state: 'working' } });
    await agent.waitTask('t', 1, { timeoutMs: 1 }).catch(() => {});
    await events.next();
    assert.ok(describe().liveHandles > before);
  }
  assert.equal(describe().liveHandles, before);
  await assert.rejects(StateProvider.open(url, { gracePeriodMs: -1 }), { key: 'gracePeriodMs' });
  assert.equal(describe().liveHandles, before);
});

onBoth('pages are walked', async url => {
  await using store = await Store.open(url);
  await using tasks = await TaskManager.open(store);
  await using agent = await StateProvider.open(store);
  for (let n = 0; n < 120; n += 1) {
    await tasks.createTask({ endpoint: '/mcp', origin: n });
    await agent.saveTask('alice', { id: `t${n}`, status: { state: 'working' } });
  }
  const origins: unknown[] = [];
  for await (const record of tasks.iterTasks({ status: 'working' })) origins.push(record.origin);
  assert.deepEqual(new Set(origins), new Set(Array.from({ length: 120 }, (_, n) => n)));
  assert.equal(origins.length, 120);
  let count = 0;
  for await (const task of agent.iterTasks('alice')) {
    assert.equal(task.status.state, 'working');
    count += 1;
  }
  assert.equal(count, 120);
  assert.equal((await store.stats()).tasks['working'], 120);
  assert.equal((await store.check()).ok, true);
});

test('what was dropped is closed by the garbage collector', t => {
  const { stdout } = run('dropping.js', [folder(t)], ['--expose-gc']);
  assert.equal(stdout, 'all closed\n');
});

test('an idle process ends by itself, and one that waits ends when it is told to', t => {
  assert.equal(run('ending.js', [`sqlite:${path.join(folder(t), 'a.db')}`, 'idle']).status, 0);
  assert.equal(run('ending.js', ['memory:', 'idle']).status, 0);
  assert.equal(run('ending.js', [`sqlite:${path.join(folder(t), 'b.db')}`, 'waiting']).status, 7);
  assert.equal(run('ending.js', ['memory:', 'waiting']).status, 7);
  assert.equal(run('ending.js', ['memory:', 'changing']).status, 7);
});

test('worker threads have their own package over the same file', async t => {
  const url = `sqlite:${path.join(folder(t), 'store.db')}`;
  await using tasks = await TaskManager.open(url);
  const threads = Array.from({ length: 3 }, () => {
    return new Worker(path.join(__dirname, 'processes/thread.js'), { workerData: url });
  });
  await until(async () => (await tasks.listTasks()).records.length === 3);
  // They wait in the library now, and are ended under it.
  for (const thread of threads) await thread.terminate();
  for (const { task } of (await tasks.listTasks()).records) await tasks.completeTask(task.taskId, {});
});

test('a missing library says which there are', t => {
  const natives = path.join(__dirname, 'no-such-folder');
  assert.throws(() => find({}, natives), /no native library for .*it has none.*TASKHOLD_LIBRARY/);
  assert.throws(() => find({ TASKHOLD_LIBRARY: '' }, path.join(__dirname)), /it has those for .*processes/);
  assert.equal(find({ TASKHOLD_LIBRARY: '/x/y.so' }), '/x/y.so');
  const env = { ...process.env, TASKHOLD_LIBRARY: path.join(folder(t), 'nothing.so') };
  const done = spawnSync(process.execPath, ['-e', "require('taskhold')"], { env, cwd: __dirname, encoding: 'utf8' });
  assert.match(done.stderr, /taskhold: cannot load .*nothing\.so/);
});
