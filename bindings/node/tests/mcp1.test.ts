/** The store in the place of the SDK 1.x's own: both do the same, and a server over it keeps its tasks. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import {
  InMemoryTaskMessageQueue,
  InMemoryTaskStore,
  type TaskStore,
} from '@modelcontextprotocol/sdk/experimental/tasks';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { CallToolResultSchema, type Result } from '@modelcontextprotocol/sdk/types.js';
import { DurableTaskStore } from 'taskhold/mcp1';
import { onBoth } from './kit.js';

const request = { method: 'tools/call', params: { name: 'search' } };
const result: Result = { content: [{ type: 'text', text: 'found' }] };

/** What every store of the SDK does. */
async function behaves(store: TaskStore): Promise<void> {
  const task = await store.createTask({ ttl: 60_000, pollInterval: 50 }, 1, request, 'a');
  const { taskId } = task;
  assert.deepEqual([task.status, task.ttl, task.pollInterval], ['working', 60_000, 50]);
  assert.deepEqual(await store.getTask(taskId), task);
  assert.equal(await store.getTask('unknown'), null);

  // Sessions.
  assert.equal(await store.getTask(taskId, 'b'), null);
  await assert.rejects(store.updateTaskStatus(taskId, 'working', 'x', 'b'), /not found/);
  await assert.rejects(store.storeTaskResult(taskId, 'completed', result, 'b'), /not found/);
  await assert.rejects(store.getTaskResult(taskId, 'b'), /not found/);
  const everybodys = await store.createTask({}, 2, request);
  assert.notEqual(await store.getTask(everybodys.taskId, 'b'), null);

  // Statuses; a message stays until there is another.
  await store.updateTaskStatus(taskId, 'input_required', 'asking', 'a');
  assert.equal((await store.getTask(taskId))?.status, 'input_required');
  await store.updateTaskStatus(taskId, 'input_required');
  await store.updateTaskStatus(taskId, 'working');
  const working = await store.getTask(taskId);
  assert.deepEqual([working?.status, working?.statusMessage], ['working', 'asking']);
  await assert.rejects(store.getTaskResult(taskId), /no result/);
  await store.storeTaskResult(taskId, 'completed', result, 'a');
  assert.equal((await store.getTask(taskId))?.status, 'completed');
  assert.deepEqual(await store.getTaskResult(taskId, 'a'), result);
  await assert.rejects(store.storeTaskResult(taskId, 'failed', result));
  await assert.rejects(store.updateTaskStatus(taskId, 'working'));

  const failed = await store.createTask({}, 3, request, 'a');
  await store.storeTaskResult(failed.taskId, 'failed', { ...result, isError: true });
  assert.equal((await store.getTask(failed.taskId))?.status, 'failed');
  assert.deepEqual(await store.getTaskResult(failed.taskId), { ...result, isError: true });
  const cancelled = await store.createTask({}, 4, request, 'b');
  await store.updateTaskStatus(cancelled.taskId, 'cancelled', 'enough');
  assert.equal((await store.getTask(cancelled.taskId))?.statusMessage, 'enough');

  // Listing.
  const listed = async (sessionId?: string): Promise<Set<string>> => {
    const ids: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await store.listTasks(cursor, sessionId);
      ids.push(...page.tasks.map(one => one.taskId));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    assert.equal(new Set(ids).size, ids.length);
    return new Set(ids);
  };
  const all = [taskId, everybodys.taskId, failed.taskId, cancelled.taskId];
  assert.deepEqual(await listed(), new Set(all));
  assert.deepEqual(await listed('a'), new Set([taskId, everybodys.taskId, failed.taskId]));
  assert.deepEqual(await listed('c'), new Set([everybodys.taskId]));
  await assert.rejects(store.listTasks('nonsense'), /Invalid cursor/);
  for (let n = 0; n < 120; n += 1) await store.createTask({}, n, request, 'd');
  assert.equal((await listed('d')).size, 121);
}

test('the SDK’s own store', async () => {
  const store = new InMemoryTaskStore();
  await behaves(store);
  store.cleanup();
});

onBoth('the durable store', async url => {
  await using store = await DurableTaskStore.open(url);
  await behaves(store);
  await assert.rejects(store.listTasks('own:x', 'a'), /Invalid cursor/);
  await assert.rejects(store.listTasks('own:x'), /Invalid cursor/);
});

onBoth('tasks that are bound to no session, and those of another endpoint', async url => {
  await using store = await DurableTaskStore.open(url, { bindToSession: false });
  const { taskId } = await store.createTask({}, 1, request, 'a');
  assert.notEqual(await store.getTask(taskId, 'b'), null);
  assert.equal((await store.listTasks(undefined, 'b')).tasks.length, 1);
  const other = new DurableTaskStore(store.manager, { endpoint: '/other' });
  assert.equal(await other.getTask(taskId), null);
  assert.equal((await other.listTasks()).tasks.length, 0);
  await store.updateTaskStatus(taskId, 'failed', 'broken');
  await assert.rejects(store.getTaskResult(taskId), /no result/);
  const ended = await store.createTask({}, 2, request);
  await store.updateTaskStatus(ended.taskId, 'completed');
  assert.deepEqual(await store.getTaskResult(ended.taskId), {});
});

onBoth('a server over the store', async url => {
  await using taskStore = await DurableTaskStore.open(url);
  const capabilities = { tasks: { requests: { tools: { call: {} } } } };
  const options = { capabilities, taskStore, taskMessageQueue: new InMemoryTaskMessageQueue() };
  const server = new McpServer({ name: 'test', version: '1' }, options);
  server.experimental.tasks.registerToolTask(
    'search',
    { description: 'Search.' },
    {
      createTask: async extra => {
        const task = await extra.taskStore.createTask({ ttl: 60_000, pollInterval: 5 });
        setTimeout(() => void extra.taskStore.storeTaskResult(task.taskId, 'completed', result), 10);
        return { task };
      },
      getTask: extra => extra.taskStore.getTask(extra.taskId),
      getTaskResult: async extra =>
        (await extra.taskStore.getTaskResult(extra.taskId)) as typeof result & { content: [] },
    },
  );
  const client = new Client({ name: 'client', version: '1' }, { capabilities: {} });
  const [here, there] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(here), client.connect(there)]);
  const seen: string[] = [];
  const stream = client.experimental.tasks.callToolStream({ name: 'search', arguments: {} }, CallToolResultSchema, {
    task: { ttl: 60_000 },
  });
  for await (const message of stream) {
    seen.push(message.type);
    if (message.type === 'result') assert.deepEqual(message.result.content, result['content']);
    assert.notEqual(message.type, 'error');
  }
  assert.equal(seen[0], 'taskCreated');
  assert.equal(seen.at(-1), 'result');
  await client.close();
  await server.close();
});
