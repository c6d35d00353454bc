/** Waiting costs no thread and never holds up the event loop. */

import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { pbkdf2 } from 'node:crypto';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { ManualClock, StateProvider, Store, type TaskEvent, TaskManager } from 'taskhold';
import { folder, onBoth, settled, until } from './kit.js';

const creation = { endpoint: '/mcp', origin: {} };

onBoth('a wait ends with the change', async url => {
  await using tasks = await TaskManager.open(url);
  const { task, revision } = await tasks.createTask(creation);
  assert.equal((await tasks.waitTask(task.taskId)).revision, revision);
  const waits = [tasks.waitTask(task.taskId, revision), tasks.waitTask(task.taskId, BigInt(revision))];
  await tasks.completeTask(task.taskId, {});
  for (const wait of waits) assert.equal((await wait).task.status, 'completed');
});

onBoth('a wait hears of a request for cancelation', async url => {
  await using tasks = await TaskManager.open(url);
  const { task, revision } = await tasks.createTask(creation);
  const wait = tasks.waitTask(task.taskId, revision);
  await tasks.requestTaskCancelation('/mcp', null, task.taskId);
  assert.equal((await wait).cancelationRequested, true);
});

onBoth('a wait can be given up', async url => {
  await using tasks = await TaskManager.open(url);
  const { task, revision } = await tasks.createTask(creation);
  const controller = new AbortController();
  const wait = tasks.waitTask(task.taskId, revision, { signal: controller.signal });
  const why = new Error('enough');
  setImmediate(() => controller.abort(why));
  await assert.rejects(wait, why);
  await assert.rejects(tasks.waitTask(task.taskId, 0, { signal: AbortSignal.abort(why) }), why);
  await assert.rejects(tasks.claimTask({ worker: 'w', queues: ['q'], leaseMs: 1000 }, controller), why);
});

onBoth('a wait ends after its time', async url => {
  await using tasks = await TaskManager.open(url);
  const { task, revision } = await tasks.createTask(creation);
  for (const timeoutMs of [0, 1, 20]) {
    await assert.rejects(tasks.waitTask(task.taskId, revision, { timeoutMs }), { name: 'TimeoutError' });
  }
  await assert.rejects(tasks.waitTask('unknown'), { name: 'NotFoundError', reason: 'task_not_found' });
  assert.equal(await tasks.claimTask({ worker: 'w', queues: ['q'], leaseMs: 1000 }, { timeoutMs: 20 }), null);
});

onBoth('a wait ends with its manager', async url => {
  const tasks = await TaskManager.open(url);
  const events = await tasks.openEvents();
  const { task, revision } = await tasks.createTask(creation);
  await events.next();
  const closed = { name: 'ClosedError', reason: 'closed_while_waiting', status: 'closed' };
  const ends = [
    assert.rejects(tasks.waitTask(task.taskId, revision), closed),
    assert.rejects(tasks.claimTask({ worker: 'w', queues: ['q'], leaseMs: 1000 }), closed),
    assert.rejects(events.next(), closed),
  ];
  // In line, or on the way there: both have to end.
  await tasks.findTask(task.taskId);
  tasks.close();
  events.close();
  await Promise.all(ends);
  await assert.rejects(tasks.findTask(task.taskId), {
    name: 'ClosedError',
    reason: 'closed',
    status: 'invalid_handle',
  });
});

onBoth('a wait ends when its task expires', async url => {
  await using tasks = await TaskManager.open(url, { taskTimeToLiveMs: 200 });
  const { task, revision } = await tasks.createTask(creation);
  await assert.rejects(tasks.waitTask(task.taskId, revision), { name: 'NotFoundError' });
});

onBoth('a manual clock wakes those who wait', async url => {
  using clock = new ManualClock(1_764_498_600_000);
  await using store = await Store.open(url, { clock });
  await using tasks = await TaskManager.open(store, { taskTimeToLiveMs: 1000 });
  const { task, revision } = await tasks.createTask(creation);
  const wait = tasks.waitTask(task.taskId, revision);
  const claim = tasks.claimTask({ worker: 'w', queues: ['q'], leaseMs: 100 });
  await tasks.createTask({ ...creation, queue: 'q', delayMs: 500 });
  assert.equal(await settled(claim), false);
  clock.advance(500);
  assert.equal((await claim)?.queue, 'q');
  clock.advance(500);
  await assert.rejects(wait, { name: 'NotFoundError' });
});

onBoth('a wait hears of a lease that lapsed', async url => {
  await using tasks = await TaskManager.open(url);
  const lease = { worker: 'w', leaseMs: 100 };
  const { task, revision } = await tasks.createTask({ ...creation, lease });
  const { task: ended } = await tasks.waitTask(task.taskId, revision);
  assert.equal(ended.error?.message, 'The work on this task was abandoned.');
});

onBoth('a wait for an A2A task', async url => {
  await using store = await Store.open(url);
  await using agent = await StateProvider.open(store);
  await using other = await StateProvider.open(store);
  const revision = await agent.saveTask('alice', { id: 't', status: { state: 'working' } });
  assert.equal(await agent.waitTask('t'), revision);
  const wait = agent.waitTask('t', revision);
  assert.equal(await other.saveTask('alice', { id: 't', status: { state: 'completed' } }), revision + 1);
  assert.equal(await wait, revision + 1);
  await assert.rejects(agent.waitTask('t', revision + 1, { timeoutMs: 10 }), { name: 'TimeoutError' });
  const gone = agent.waitTask('t', revision + 1);
  await other.deleteTask('alice', 't');
  await assert.rejects(gone, { name: 'NotFoundError' });
});

onBoth('events are iterated', async url => {
  await using tasks = await TaskManager.open(url);
  const events = await tasks.openEvents();
  const { task } = await tasks.createTask(creation);
  const seen: TaskEvent[] = [];
  for await (const event of events) {
    seen.push(event);
    if (seen.length === 1) await tasks.requestTaskCancelation('/mcp', null, task.taskId);
    if (seen.length === 2) await tasks.cancelTask(task.taskId);
    if (seen.length === 3) events.close();
  }
  assert.deepEqual(
    seen.map(event => event.event),
    ['changed', 'cancelation_requested', 'changed'],
  );
  const more = await tasks.openEvents(1);
  await tasks.createTask(creation);
  await tasks.createTask(creation);
  assert.deepEqual([(await more.next()).event, (await more.next()).event].includes('lagged'), true);
  await assert.rejects(more.next({ timeoutMs: 0 }), { name: 'TimeoutError' });
  await assert.rejects(more.next({ signal: AbortSignal.timeout(5) }), { name: 'TimeoutError' });
  more.close();
  const shared = await tasks.openEvents();
  const waiting = [shared.next(), shared.next()];
  await tasks.createTask(creation);
  await tasks.createTask(creation);
  for (const event of await Promise.all(waiting)) assert.equal(event.event, 'changed');
  shared.close();
});

onBoth('a thousand waits leave the event loop and its threads alone', async (url, t) => {
  await using tasks = await TaskManager.open(url);
  const records = await Promise.all(Array.from({ length: 1000 }, () => tasks.createTask(creation)));
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const waits = records.map(({ task, revision }) => tasks.waitTask(task.taskId, revision));
  // All have looked once, and wait.
  await tasks.findTask(records[999]?.task.taskId as string);
  await tasks.waitTask(records[999]?.task.taskId as string, 1, { timeoutMs: 1 }).catch(() => {});
  delay.enable();
  // As many as libuv has threads: a wait that took one would hold these up for ever.
  await Promise.all(Array.from({ length: 4 }, () => promisify(pbkdf2)('p', 's', 1, 8, 'sha1')));
  await new Promise(resolve => setTimeout(resolve, 200));
  delay.disable();
  t.diagnostic(
    `1000 waits: the loop's delay is ${(delay.mean / 1e6).toFixed(2)} ms, at most ${(delay.max / 1e6).toFixed(2)}`,
  );
  assert.equal(await settled(Promise.race(waits)), false);
  for (const { task } of records) await tasks.completeTask(task.taskId, {});
  for (const wait of waits) assert.equal((await wait).task.status, 'completed');
});

test('a wait hears of what another process does', async t => {
  const url = `sqlite:${path.join(folder(t), 'store.db')}`;
  await using tasks = await TaskManager.open(url);
  const { task, revision } = await tasks.createTask(creation);
  const wait = tasks.waitTask(task.taskId, revision);
  const claim = tasks.claimTask({ worker: 'w', queues: ['q'], leaseMs: 1000 });
  const child = fork(path.join(__dirname, 'processes/other.js'), [url, task.taskId]);
  const exit = new Promise(resolve => child.once('exit', resolve));
  assert.equal((await wait).task.status, 'completed');
  assert.equal((await claim)?.queue, 'q');
  assert.equal(await exit, 0);
});

onBoth('each task goes to one of many claimers', async url => {
  await using tasks = await TaskManager.open(url);
  const claim = { worker: 'w', queues: ['q'], leaseMs: 60_000 };
  const claims = Array.from({ length: 50 }, () => tasks.claimTask(claim));
  const controller = new AbortController();
  const given = Array.from({ length: 10 }, () => tasks.claimTask(claim, { signal: controller.signal }));
  for (let n = 0; n < 50; n += 1) await tasks.createTask({ ...creation, queue: 'q' });
  await until(async () => (await tasks.listTasks({ workState: 'ready' })).records.length === 0);
  controller.abort();
  const late = await Promise.allSettled(given);
  const got = late.filter(one => one.status === 'fulfilled').length;
  for (let n = 0; n < got; n += 1) await tasks.createTask({ ...creation, queue: 'q' });
  const ids = (await Promise.all(claims)).map(record => record?.task.taskId);
  assert.equal(new Set(ids).size, 50);
});
