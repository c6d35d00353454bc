/** Queued work: claims, leases that are kept, questions, and workers. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type InputRequest, Parked, Store, TaskManager, type TaskRecord, type Work, WorkInterrupted } from 'taskhold';
import { deferred, onBoth, until } from './kit.js';

const queued = { endpoint: '/mcp', origin: {}, queue: 'q' };
const question = (message: string): InputRequest => ({
  method: 'elicitation/create',
  params: { message, requestedSchema: { type: 'object', properties: {} } },
});
const answer = { action: 'accept', content: {} };

async function end(tasks: TaskManager, record: TaskRecord): Promise<TaskRecord> {
  let now = record;
  while (['working', 'input_required'].includes(now.task.status)) {
    now = await tasks.waitTask(now.task.taskId, now.revision);
  }
  return now;
}

onBoth('a claim is settled at the end of its block', async url => {
  await using tasks = await TaskManager.open(url);
  const { task } = await tasks.createTask({ ...queued, work: { pages: 3 }, attempts: { maximum: 2, backoffMs: 1 } });
  {
    await using work = await tasks.claim('q', { worker: 'w' });
    assert.deepEqual([work?.work, work?.attempt, work?.checkpoint], [{ pages: 3 }, 1, null]);
    await work?.progress('page 1', { checkpoint: { page: 1 } });
  }
  const { lease, task: released } = (await tasks.findTask(task.taskId)) as TaskRecord;
  assert.deepEqual([lease, released.statusMessage], [null, 'page 1']);
  {
    await using work = await tasks.claim(['other', 'q']);
    assert.deepEqual([work?.attempt, work?.checkpoint], [2, { page: 1 }]);
    await work?.complete({ content: [] }, 'done');
    assert.equal(work?.outcome, 'completed');
  }
  assert.equal((await tasks.findTask(task.taskId))?.task.status, 'completed');
  assert.equal(await tasks.claim('q', { timeoutMs: 0 }), null);
});

onBoth('a worker works until it is stopped', async url => {
  await using tasks = await TaskManager.open(url);
  const stop = new AbortController();
  let running = 0;
  let most = 0;
  const working = tasks.worker(
    'q',
    async work => {
      running += 1;
      most = Math.max(most, running);
      await new Promise(resolve => setTimeout(resolve, 5));
      running -= 1;
      return { content: [work.work] };
    },
    { concurrency: 4, signal: stop.signal },
  );
  const records = await Promise.all(Array.from({ length: 20 }, (_, n) => tasks.createTask({ ...queued, work: n })));
  for (const [n, record] of records.entries()) {
    assert.deepEqual((await end(tasks, record)).task.result, { content: [n] });
  }
  stop.abort();
  await working;
  assert.ok(most <= 4 && most > 0);
});

onBoth('an attempt that fails is made again, and the last one fails the task', async url => {
  await using tasks = await TaskManager.open(url);
  const stop = new AbortController();
  const errors: string[] = [];
  const attempts: number[] = [];
  const onError = (error: unknown): void => {
    errors.push((error as Error).message);
  };
  const handler = (work: Work): void => {
    attempts.push(work.attempt);
    throw new Error('no luck');
  };
  const working = tasks.worker('q', handler, { signal: stop.signal, onError });
  const record = await tasks.createTask({ ...queued, attempts: { maximum: 3, backoffMs: 1 } });
  const { task } = await end(tasks, record);
  assert.equal(task.error?.message, 'The work on this task did not succeed.');
  stop.abort();
  await working;
  assert.deepEqual(
    [attempts, errors],
    [
      [1, 2, 3],
      ['no luck', 'no luck', 'no luck'],
    ],
  );
});

onBoth('a client that asks for cancelation stops the work', async url => {
  await using tasks = await TaskManager.open(url);
  const stop = new AbortController();
  const began = deferred<Work>();
  const handler = async (work: Work): Promise<void> => {
    began.resolve(work);
    await new Promise((_, reject) => work.signal.addEventListener('abort', () => reject(work.signal.reason)));
  };
  const working = tasks.worker('q', handler, { signal: stop.signal });
  const record = await tasks.createTask(queued);
  const work = await began.promise;
  await tasks.requestTaskCancelation('/mcp', null, record.task.taskId);
  assert.equal((await end(tasks, record)).task.status, 'cancelled');
  assert.equal(work.interrupted, 'cancelation_requested');
  assert.ok(work.signal.reason instanceof WorkInterrupted);
  await assert.rejects(work.progress('more'), WorkInterrupted);
  stop.abort();
  await working;
});

onBoth('a worker that stops gives its work back', async url => {
  await using tasks = await TaskManager.open(url);
  const stop = new AbortController();
  const began = deferred();
  const handler = async (work: Work): Promise<void> => {
    began.resolve();
    await new Promise((_, reject) => work.signal.addEventListener('abort', () => reject(work.signal.reason)));
  };
  const working = tasks.worker('q', handler, { signal: stop.signal, graceMs: 0 });
  const { task } = await tasks.createTask(queued);
  await began.promise;
  stop.abort();
  await working;
  const record = await tasks.findTask(task.taskId);
  // The attempt was not used up.
  assert.deepEqual([record?.task.status, record?.lease], ['working', null]);
  const work = await tasks.claim('q');
  assert.equal(work?.attempt, 1);
  await work?.complete({});
});

onBoth('work is told when somebody else ends the task', async url => {
  await using tasks = await TaskManager.open(url);
  const { task } = await tasks.createTask(queued);
  await using work = (await tasks.claim('q')) as Work;
  await tasks.failTask(task.taskId, { code: -1, message: 'by hand' }, { force: true });
  await assert.rejects(work.progress('more'), { name: 'WorkInterrupted', reason: 'lease_lost' });
  await assert.rejects(work.progress('more'), { name: 'WorkInterrupted' });
  await assert.rejects(work.complete({}), { reason: 'task_terminal' });
  assert.equal(work.outcome, 'lost');
});

onBoth('answers are kept through attempts', async url => {
  await using tasks = await TaskManager.open(url);
  const record = await tasks.createTask({ ...queued, attempts: { maximum: 2, backoffMs: 1 } });
  const { taskId } = record.task;
  const answering = (async () => {
    for (const key of ['one', 'two']) {
      await until(async () => key in ((await tasks.findTask(taskId))?.task.inputRequests ?? {}));
      await tasks.updateTask('/mcp', null, taskId, { [key]: answer });
    }
  })();
  {
    await using work = (await tasks.claim('q')) as Work;
    const answers = await work.ask({ one: question('One?'), two: question('Two?') }, { statusMessage: 'asking' });
    assert.deepEqual(answers, { one: answer, two: answer });
    await work.progress('step', { checkpoint: { step: 1 } });
    assert.deepEqual(work.checkpoint, { answers, step: 1 });
  }
  await answering;
  {
    await using work = (await tasks.claim('q')) as Work;
    assert.deepEqual(await work.ask({ one: question('One?') }), { one: answer });
    await assert.rejects(work.ask({ three: question('Three?') }, { timeoutMs: 1 }), { name: 'TimeoutError' });
    await work.fail({ code: 1, message: 'no' });
  }
  assert.equal((await tasks.findTask(taskId))?.task.status, 'failed');
});

onBoth('a parked task goes on after the last answer', async url => {
  await using tasks = await TaskManager.open(url);
  const stop = new AbortController();
  const handler = async (work: Work): Promise<object> => ({
    content: [await work.ask({ sure: question('Sure?') }, { park: true })],
  });
  const working = tasks.worker('q', handler, { signal: stop.signal });
  const record = await tasks.createTask(queued);
  const { taskId } = record.task;
  await until(async () => (await tasks.listTasks({ workState: 'parked' })).records.length === 1);
  await tasks.updateTask('/mcp', null, taskId, { sure: answer });
  assert.deepEqual((await end(tasks, record)).task.result, { content: [{ sure: answer }] });
  stop.abort();
  await working;
  assert.equal(new Parked().name, 'Parked');
});

onBoth('a lease that a task was created with is kept', async url => {
  await using tasks = await TaskManager.open(url);
  const lease = { worker: 'w', leaseMs: 60_000 };
  const record = await tasks.createTask({ endpoint: '/mcp', origin: {}, lease });
  const work = tasks.hold(record, 90_000);
  // The first renewal comes at once, and is longer than the lease was.
  const first = record.lease?.expiresAt as string;
  await until(async () => ((await tasks.findTask(record.task.taskId))?.lease?.expiresAt ?? '') > first);
  // Nobody else can take it over.
  assert.equal((await work.release()).task.status, 'failed');
  assert.throws(() => tasks.hold(record.task as unknown as TaskRecord), { reason: 'missing_key', key: 'lease' });
});

test('a busy event loop keeps its leases', async () => {
  await using tasks = await TaskManager.open();
  const leaseMs = 2000;
  const record = await tasks.createTask({ endpoint: '/mcp', origin: {}, lease: { worker: 'w', leaseMs } });
  await using work = tasks.hold(record, leaseMs);
  const first = record.lease?.expiresAt as string;
  await until(async () => ((await tasks.findTask(work.taskId))?.lease?.expiresAt ?? '') > first);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * leaseMs);
  await work.complete({});
  assert.equal(work.outcome, 'completed');
});

onBoth('many pieces of work are renewed together', async url => {
  await using tasks = await TaskManager.open(url);
  const lease = { worker: 'w', leaseMs: 60_000 };
  const created = Array.from({ length: 30 }, () => tasks.createTask({ endpoint: '/mcp', origin: {}, lease }));
  const works = (await Promise.all(created)).map(record => tasks.hold(record, 120_000));
  const after = new Date(Date.now() + 90_000).toISOString();
  await until(async () => {
    const { records } = await tasks.listTasks();
    return records.every(record => (record.lease?.expiresAt ?? '') > after);
  });
  for (const work of works) await work.cancel();
});

onBoth('a wait sees claims and releases by another handle', async url => {
  await using store = await Store.open(url);
  await using tasks = await TaskManager.open(store);
  await using others = await TaskManager.open(store);
  const { task, revision } = await tasks.createTask(queued);
  const claimed = tasks.waitTask(task.taskId, revision, { timeoutMs: 20_000 });
  const taken = await others.claimTask({ queues: ['q'], worker: 'w', leaseMs: 600_000 }, { timeoutMs: 0 });
  const held = await claimed;
  assert.equal(held.lease?.worker, 'w');
  const released = tasks.waitTask(task.taskId, held.revision, { timeoutMs: 20_000 });
  const lease = taken?.lease?.token;
  assert.ok(lease !== undefined);
  await others.releaseTask(task.taskId, { lease, delayMs: 30_000, countsAsAttempt: false });
  assert.equal((await released).lease, null);
});
