/** The store in the place of the A2A SDK's own: both do the same, and an agent over it keeps its tasks. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ListTasksRequest, Task, TaskState } from '@a2a-js/sdk';
import { InMemoryTaskStore, ServerCallContext, type TaskStore } from '@a2a-js/sdk/server';
import { StateProvider } from 'taskhold';
import { DurableTaskStore } from 'taskhold/a2a';
import { onBoth } from './kit.js';

const user = (userName: string): ServerCallContext => {
  return new ServerCallContext({ user: { isAuthenticated: true, userName } });
};
const ann = user('ann');
const bob = user('bob');

function task(id: string, more: object = {}, state = 'TASK_STATE_WORKING', second = 0): Task {
  const timestamp = `2026-01-01T00:00:${String(second).padStart(2, '0')}.000Z`;
  return Task.fromJSON({ id, contextId: 'c', status: { state, timestamp }, ...more });
}

const params = (given: object = {}): ListTasksRequest =>
  ListTasksRequest.fromJSON({ includeArtifacts: true, ...given });

/** What every store of the SDK does. */
async function behaves(store: TaskStore): Promise<void> {
  const message = {
    messageId: 'm',
    role: 'ROLE_USER',
    parts: [{ text: 'hello' }, { raw: 'AAEC' }, { data: { n: 1.5 } }],
  };
  const artifacts = [{ artifactId: 'a', parts: [{ text: 'made' }] }];
  const whole = task('t-1', { history: [message], artifacts, metadata: { k: [1, null, { deep: true }] } });
  await store.save(whole, ann);
  assert.deepEqual(Task.toJSON((await store.load('t-1', ann)) as Task), Task.toJSON(whole));
  assert.equal(await store.load('t-1', bob), undefined);
  assert.equal(await store.load('unknown', ann), undefined);
  assert.equal(await store.load('', ann), undefined);
  await store.save(task('t-1', {}, 'TASK_STATE_COMPLETED', 1), ann);
  assert.equal((await store.load('t-1', ann))?.status?.state, TaskState.TASK_STATE_COMPLETED);

  for (let n = 2; n <= 7; n += 1) {
    const contextId = n % 2 === 0 ? 'even' : 'odd';
    await store.save(task(`t-${n}`, { contextId, artifacts }, 'TASK_STATE_WORKING', n), ann);
  }
  await store.save(task('b-1'), bob);
  const ids = async (given: object): Promise<string[]> => {
    const found: string[] = [];
    let pageToken = '';
    do {
      const page = await store.list(params({ ...given, pageToken }), ann);
      found.push(...page.tasks.map(one => one.id));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    return found;
  };
  assert.deepEqual(await ids({ pageSize: 3 }), ['t-7', 't-6', 't-5', 't-4', 't-3', 't-2', 't-1']);
  assert.deepEqual(await ids({ contextId: 'even' }), ['t-6', 't-4', 't-2']);
  assert.deepEqual(await ids({ status: 'TASK_STATE_COMPLETED' }), ['t-1']);
  assert.deepEqual(await ids({ statusTimestampAfter: '2026-01-01T00:00:05.000Z' }), ['t-7', 't-6']);
  const page = await store.list(params({ pageSize: 2 }), ann);
  assert.deepEqual([page.totalSize, page.pageSize, page.tasks[0]?.artifacts.length], [7, 2, 1]);
  const without = await store.list(ListTasksRequest.fromJSON({ pageSize: 2 }), ann);
  assert.deepEqual(without.tasks[0]?.artifacts, []);
  await assert.rejects(store.list(params({ pageToken: '%' }), ann), { name: 'RequestMalformedError' });
  // Tenants are apart.
  const tenant = new ServerCallContext({ user: { isAuthenticated: true, userName: 'ann' }, tenant: 'other' });
  assert.equal(await store.load('t-1', tenant), undefined);
  assert.equal((await store.list(params(), tenant)).totalSize, 0);
}

test('the SDK’s own store', () => behaves(new InMemoryTaskStore()));

onBoth('the durable store', async url => {
  await using store = await DurableTaskStore.open(url);
  await behaves(store);
});

onBoth('what the durable store refuses, and whom it tells apart', async url => {
  await using store = await DurableTaskStore.open(url, { gracePeriodMs: 0 });
  await store.save(task('t', {}, 'TASK_STATE_COMPLETED'), ann);
  await assert.rejects(store.save(task('t'), ann), { reason: 'task_final' });
  await assert.rejects(store.save(task('t', {}, 'TASK_STATE_FAILED'), bob), { name: 'NotFoundError' });
  assert.equal(await store.provider.isTaskFinalized('t'), true);
  // A name that is too long, or looks like the digest of one, is nobody else's.
  const long = user('x'.repeat(2000));
  await store.save(task('long'), long);
  assert.equal((await store.load('long', long))?.id, 'long');
  const { tasks } = await store.provider.listTasks(null, { anyOwner: true });
  const { owner } = (tasks as unknown as { owner: string; task: { id: string } }[]).find(
    one => one.task.id === 'long',
  ) as {
    owner: string;
  };
  assert.match(owner, /^sha256:[0-9a-f]{64}$/);
  assert.equal(await store.load('long', user(owner)), undefined);
  // Nobody's tasks are those of the anonymous owner, whatever language saved them.
  await store.provider.saveTask(null, { id: 'python', status: { state: 'TASK_STATE_WORKING' }, later: 1 });
  assert.equal((await store.load('python', new ServerCallContext()))?.id, 'python');
  await store.save(Task.fromJSON({ id: 'vague', contextId: 'c', status: {} }), ann);
  assert.equal((await store.load('vague', ann))?.status?.state, TaskState.TASK_STATE_UNSPECIFIED);
});

onBoth('an own name for owners, and a provider that is open', async url => {
  await using provider = await StateProvider.open(url);
  const store = new DurableTaskStore(provider, context => context.tenant ?? null);
  const context = new ServerCallContext({ tenant: 'x' });
  await store.save(task('t'), context);
  assert.equal((await provider.getTask('x', 't'))?.value.id, 't');
  assert.equal(await store.load('t', ann), undefined);
});
