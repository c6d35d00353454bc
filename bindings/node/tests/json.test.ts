/** What crosses to the library, and what is refused before it does. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InvalidArgumentError, Json, jsonGet, TaskManager } from 'taskhold';
import { write } from '../dist/json.js';

const creation = (origin: unknown): { endpoint: string; origin: object } => ({
  endpoint: '/mcp',
  origin: origin as object,
});

test('values are written as JSON.stringify does, and more', () => {
  const date = new Date(0);
  const values = [
    null,
    true,
    1.5,
    'ä"\u2028',
    [1, undefined],
    { a: 1, b: undefined, c: { d: [] } },
    { date },
    '\ud800',
  ];
  for (const value of values) {
    assert.equal(write(value), JSON.stringify(value));
    // The same in the company of what JSON.stringify cannot write.
    assert.equal(write([value, 1n]), `[${JSON.stringify(value)},1]`);
  }
  assert.equal(write(12345678901234567890n), '12345678901234567890');
  assert.equal(write({ a: [new Json('1.10'), 2n] }), '{"a":[1.10,2]}');
  assert.equal(write({ toJSON: () => 5n }), '5');
  assert.equal(write([Object(1), Object('x'), () => 1, 2n]), '[1,"x",null,2]');
});

test('what is no JSON value is refused', () => {
  const circular: { self?: unknown } = {};
  circular.self = circular;
  assert.throws(() => write(circular), TypeError);
  assert.throws(() => write({ circular, n: 1n }), TypeError);
  assert.throws(() => write(undefined), TypeError);
  assert.throws(() => write(() => 1), TypeError);
  assert.throws(() => new Json(1 as unknown as string), TypeError);
  // A text inside another cannot break out of its place.
  assert.throws(() => write({ a: new Json('1,"b":2') }), { reason: 'invalid_json' });
});

test('a text twin keeps every digit', async () => {
  await using tasks = await TaskManager.open();
  const text = '{"b":1.10,"a":12345678901234567890123,"e":1E+3,"u":"\\u0000"}';
  const record = await tasks.createTaskJson({ endpoint: '/mcp', origin: new Json(text) });
  assert.equal(jsonGet(record, '/origin'), text);
  const taskId = jsonGet(record, '/task/taskId') as string;
  const ended = await tasks.completeTaskJson(taskId, new Json('{"price":1.10}'));
  assert.equal(jsonGet(ended, '/task/result'), '{"price":1.10}');
  assert.equal(jsonGet(ended, '/nothing'), null);
  const big = await tasks.createTaskJson(creation({ n: 2n ** 64n }));
  assert.equal(jsonGet(big, '/origin/n'), '18446744073709551616');
});

test('what a C string would cut or cannot hold is refused', async () => {
  await using tasks = await TaskManager.open();
  await assert.rejects(tasks.findTask('a\0b'), { name: 'InvalidArgumentError', reason: 'embedded_nul' });
  await assert.rejects(tasks.findTask('\ud800'), { reason: 'lone_surrogate' });
  await assert.rejects(tasks.findTask(1 as unknown as string), TypeError);
  await assert.rejects(tasks.findTask(null as unknown as string), TypeError);
  await assert.rejects(tasks.completeTask('x', new Json('{"a":"\0"}')), { reason: 'embedded_nul' });
  await assert.rejects(tasks.createTask(creation('\ud800')), { reason: 'lone_surrogate' });
  await assert.rejects(tasks.handleRequest('/mcp', null, Buffer.from('{}\0')), { reason: 'embedded_nul' });
});

test('a number that its C type cannot hold is refused', async () => {
  await using tasks = await TaskManager.open();
  const limit = { reason: 'invalid_value', key: 'capacity', limit: 2 ** 32 - 1 };
  await assert.rejects(tasks.openEvents(2 ** 32), limit);
  await assert.rejects(tasks.openEvents(-1), { key: 'capacity', limit: 0 });
  await assert.rejects(tasks.openEvents(1.5), { reason: 'invalid_value', key: 'capacity' });
  await assert.rejects(tasks.waitTask('x', -1), { key: 'seenRevision', limit: 0 });
  await assert.rejects(tasks.waitTask('x', 2n ** 64n), { key: 'seenRevision', limit: 2n ** 64n - 1n });
  await assert.rejects(tasks.waitTask('x', 0, { timeoutMs: -1 }), { key: 'timeoutMs', limit: 0 });
  await assert.rejects(tasks.waitTask('x', 0, { timeoutMs: Number.NaN }), { key: 'timeoutMs' });
});

test('an error tells its reason, key and limit', async () => {
  await using tasks = await TaskManager.open(null, { maximumPayloadBytes: 100 });
  await assert.rejects(tasks.createTask(creation('x'.repeat(100))), {
    name: 'LimitExceededError',
    status: 'limit_exceeded',
    reason: 'payload_too_large',
    limit: 100,
  });
  const unknown = TaskManager.open(null, { nope: 1 } as object);
  await assert.rejects(unknown, (error: unknown) => {
    assert.ok(error instanceof InvalidArgumentError);
    assert.deepEqual([error.reason, error.key], ['unknown_key', 'nope']);
    return true;
  });
});

test('bytes of a request that are no UTF-8 are answered', async () => {
  await using tasks = await TaskManager.open();
  const response = await tasks.handleRequest('/mcp', null, Buffer.from('eda080', 'hex'));
  assert.equal(response?.error?.code, -32700);
  const request = { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { taskId: 'x' } };
  const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
  for (const form of [request, JSON.stringify(request), Buffer.from(JSON.stringify(request))]) {
    assert.equal((await tasks.handleRequest('/mcp', null, form, capabilities))?.error?.code, -32602);
  }
  const notification = { jsonrpc: '2.0', method: 'tasks/get', params: { taskId: 'x' } };
  assert.equal(await tasks.handleRequest('/mcp', null, notification, capabilities), null);
});
