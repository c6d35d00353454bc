/** What the conformance suite does not look at in the plug into `@modelcontextprotocol/server`. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type AuthInfo,
  acceptedContent,
  createMcpHandler,
  inputRequired,
  McpServer,
  ProtocolError,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { JsonObject, Task } from 'taskhold';
import { Stopped, TasksExtension, type TasksOptions, type ToolServer } from 'taskhold/mcp';
import { z } from 'zod';
import { deferred, onBoth, until } from './kit.js';

const TASKS = 'io.modelcontextprotocol/tasks';
const KNOWS = { extensions: { [TASKS]: {} }, elicitation: {} };
const META = 'io.modelcontextprotocol';
const ENDED = ['completed', 'failed', 'cancelled'];

const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] });
const accept = (name: string) => ({ action: 'accept', content: { name } });
const requestedSchema = { type: 'object' as const, properties: { name: { type: 'string' as const } } };
const elicit = async (ctx: ServerContext, message: string): Promise<string> => {
  const answer = await ctx.mcpReq.elicitInput({ mode: 'form', message, requestedSchema });
  return answer.action === 'accept' ? String(answer.content?.['name']) : answer.action;
};

interface Answer {
  status: number;
  result?: JsonObject;
  error?: { code: number; message: string; data?: unknown };
}

/** A server with tools, and what its clients send. */
class Bench {
  readonly go = deferred();
  readonly began = deferred<ServerContext>();
  readonly fetch;

  private constructor(readonly tasks: TasksExtension) {
    const handler = createMcpHandler(() => this.#server());
    this.notify = handler.notify;
    this.fetch = tasks.fetch(handler);
  }

  readonly notify;

  static async open(url: string, options: TasksOptions & { maximumRetainedTasks?: number } = {}): Promise<Bench> {
    return new Bench(await TasksExtension.open(url, { pollIntervalMs: 1, ...options }));
  }

  #server(): McpServer {
    const { tasks } = this;
    const server = new McpServer({ name: 'bench', version: '1' });
    tasks.registerTaskTool(server, 'hold', {}, async ctx => {
      this.began.resolve(ctx);
      await Promise.race([
        this.go.promise,
        new Promise((_, reject) => ctx.mcpReq.signal.addEventListener('abort', () => reject(ctx.mcpReq.signal.reason))),
      ]);
      return text('held');
    });
    tasks.registerTaskTool(server, 'deaf', {}, async () => {
      await this.go.promise;
      return text('heard nothing');
    });
    tasks.registerTaskTool(server, 'ask', {}, async ctx => text(await elicit(ctx, 'One?')));
    tasks.registerTaskTool(server, 'ask_twice', {}, async ctx => {
      return text(`${await elicit(ctx, 'One?')}, ${await elicit(ctx, 'Two?')}`);
    });
    tasks.registerTaskTool(server, 'ask_both', {}, async ctx => {
      return text((await Promise.all([elicit(ctx, 'One?'), elicit(ctx, 'Two?')])).join(', '));
    });
    tasks.registerTaskTool(server, 'sample', {}, async ctx => {
      await ctx.mcpReq.requestSampling({ messages: [], maxTokens: 1 });
      return text('sampled');
    });
    tasks.registerTaskTool(server, 'rounds', {}, async ctx => {
      const { inputResponses, requestState } = ctx.mcpReq;
      const answer = acceptedContent(inputResponses, 'who', z.object({ name: z.string() }));
      if (answer !== undefined) return text(`${answer.name} ${requestState()}`);
      const question = inputRequired.elicit({ mode: 'form', message: 'Who?', requestedSchema });
      return inputRequired({ inputRequests: { who: question }, requestState: 'kept' });
    });
    const detach = 'tool' as const;
    tasks.registerTaskTool(server, 'detaching', { detach }, async ctx => {
      if (ctx.mcpReq.inputResponses === undefined) {
        const question = inputRequired.elicit({ mode: 'form', message: 'Who?', requestedSchema });
        return inputRequired({ inputRequests: { who: question } });
      }
      await tasks.detach();
      await this.go.promise;
      return text('detached');
    });
    tasks.registerTaskTool(server, 'refuse', {}, async () => {
      throw new ProtocolError(-32099, 'not today', { why: 'rain' });
    });
    tasks.registerTaskTool(server, 'break', {}, async () => {
      throw new Error('broken');
    });
    const inputSchema = z.object({ n: z.number() });
    tasks.registerTaskTool(server, 'double', { inputSchema, taskSupport: 'required' }, async ({ n }, ctx) => {
      const params = { progressToken: 0, progress: 1, total: 2 };
      await ctx.mcpReq.notify({ method: 'notifications/progress', params });
      await this.go.promise;
      return text(String(2 * n));
    });
    server.registerTool('greet', {}, () => text('hello'));
    return server;
  }

  /** Sends a request as a client of the protocol's newest version. */
  async send(
    method: string,
    params: JsonObject = {},
    more: { user?: string; name?: string | null; capabilities?: object; signal?: AbortSignal } = {},
  ): Promise<Response> {
    const { user, capabilities = KNOWS, signal } = more;
    const name = more.name === undefined ? (params['taskId'] ?? params['name']) : more.name;
    const _meta = {
      [`${META}/protocolVersion`]: '2026-07-28',
      [`${META}/clientInfo`]: { name: 'test', version: '1' },
      [`${META}/clientCapabilities`]: capabilities,
    };
    const headers: Record<string, string> = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
    };
    if (typeof name === 'string') headers['mcp-name'] = name;
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } });
    const request = new Request('http://127.0.0.1/mcp', { method: 'POST', headers, body, signal: signal ?? null });
    const authInfo: AuthInfo | undefined =
      user === undefined ? undefined : { token: user, clientId: 'c', scopes: [], extra: { sub: user } };
    return this.fetch(request, authInfo === undefined ? {} : { authInfo });
  }

  /** The answer to a request. */
  async ask(...args: Parameters<Bench['send']>): Promise<Answer> {
    const response = await this.send(...args);
    const whole = await response.text();
    const data = response.headers.get('content-type')?.startsWith('text/event-stream')
      ? [...whole.matchAll(/^data: (.*)$/gm)].map(found => found[1] as string).at(-1)
      : whole;
    return { status: response.status, ...(JSON.parse(data ?? '{}') as object) };
  }

  /** Calls a tool that becomes a task; gives its id. */
  async task(name: string, args: JsonObject = {}, user?: string): Promise<string> {
    const more = user === undefined ? {} : { user };
    const { result, error } = await this.ask('tools/call', { name, arguments: args }, more);
    assert.equal(result?.['resultType'], 'task', JSON.stringify(error ?? result));
    return result?.['taskId'] as string;
  }

  async get(taskId: string, user?: string): Promise<Task> {
    const { result } = await this.ask('tasks/get', { taskId }, user === undefined ? {} : { user });
    return result as unknown as Task;
  }

  async ended(taskId: string, user?: string): Promise<Task> {
    await until(async () => ENDED.includes((await this.get(taskId, user)).status));
    return this.get(taskId, user);
  }

  /** The keys of a task's open questions, once there are so many. */
  async questions(taskId: string, number = 1): Promise<string[]> {
    let keys: string[] = [];
    await until(async () => {
      const task = await this.get(taskId);
      assert.ok(!ENDED.includes(task.status), JSON.stringify(task));
      keys = Object.keys(task.inputRequests ?? {});
      return keys.length >= number;
    });
    return keys;
  }

  async answer(taskId: string, inputResponses: JsonObject): Promise<void> {
    assert.equal((await this.ask('tasks/update', { taskId, inputResponses })).error, undefined);
  }
}

function said(task: Task): unknown {
  assert.equal(task.status, 'completed', JSON.stringify(task));
  return (task.result as { content: { text: string }[] }).content[0]?.text;
}

onBoth('a name that is missing or another is refused', async url => {
  const bench = await Bench.open(url);
  const taskId = await bench.task('hold');
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
    const params = { taskId, inputResponses: {} };
    for (const name of [null, 'another', '']) {
      const { status, error } = await bench.ask(method, params, { name });
      assert.deepEqual([status, error?.code], [400, -32020], `${method} ${name}`);
    }
    const encoded = `=?base64?${Buffer.from(taskId).toString('base64')}?=`;
    assert.equal((await bench.ask(method, params, { name: encoded })).error, undefined);
  }
  assert.equal((await bench.ended(taskId)).status, 'cancelled');
  await bench.tasks.stop();
});

onBoth('tasks of another principal are unknown', async url => {
  const bench = await Bench.open(url);
  const taskId = await bench.task('ask', {}, 'alice');
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
    const foreign = await bench.ask(method, { taskId, inputResponses: {} }, { user: 'bob' });
    const unknown = await bench.ask(method, { taskId: 'unknown', inputResponses: {} }, { user: 'bob' });
    assert.deepEqual(foreign, unknown);
    assert.equal(foreign.error?.code, -32602);
  }
  assert.equal((await bench.get(taskId, 'alice')).taskId, taskId);
  await bench.tasks.stop();
});

onBoth('questions are asked through the task', async url => {
  const bench = await Bench.open(url);
  const twice = await bench.task('ask_twice');
  const [first] = (await bench.questions(twice)) as [string];
  for (const wrong of [null, 1, 'yes', [], {}, { action: 'maybe' }]) {
    await bench.answer(twice, { [first]: wrong, unknown: accept('Eve') });
    assert.deepEqual(await bench.questions(twice), [first]);
  }
  await bench.answer(twice, { [first]: accept('Ada') });
  let second = first;
  await until(async () => {
    [second = first] = Object.keys((await bench.get(twice)).inputRequests ?? {});
    return second !== first;
  });
  await bench.answer(twice, { [first]: accept('late'), [second]: { action: 'decline' } });
  assert.equal(said(await bench.ended(twice)), 'Ada, decline');

  const both = await bench.task('ask_both');
  const keys = await bench.questions(both, 2);
  const asked = (await bench.get(both)).inputRequests ?? {};
  for (const key of keys) {
    const { message = '' } = (asked[key]?.params ?? {}) as { message?: string };
    await bench.answer(both, { [key]: accept(message.replace('?', '')) });
  }
  assert.equal(said(await bench.ended(both)), 'One, Two');
  await bench.tasks.stop();
});

onBoth('a result that asks for input is asked through the task', async url => {
  const bench = await Bench.open(url);
  const taskId = await bench.task('rounds');
  const [key] = (await bench.questions(taskId)) as [string];
  await bench.answer(taskId, { [key]: accept('Ada') });
  assert.equal(said(await bench.ended(taskId)), 'Ada kept');
  await bench.tasks.stop();
});

onBoth('what a client cannot answer is not asked', async url => {
  const bench = await Bench.open(url);
  const task = await bench.ended(await bench.task('sample'));
  assert.deepEqual([task.status, task.error?.code], ['failed', -32021]);
  assert.deepEqual(task.error?.data, { requiredCapabilities: { sampling: {} } });
  await bench.tasks.stop();
});

onBoth('a tool stops when its client asks for that', async url => {
  const bench = await Bench.open(url);
  const taskId = await bench.task('hold');
  const ctx = await bench.began.promise;
  await bench.ask('tasks/cancel', { taskId });
  assert.equal((await bench.ended(taskId)).status, 'cancelled');
  assert.ok(ctx.mcpReq.signal.reason instanceof Stopped);
  // One that does not listen goes on: the worker decides.
  const deaf = await bench.task('deaf');
  await bench.ask('tasks/cancel', { taskId: deaf });
  bench.go.resolve();
  assert.equal(said(await bench.ended(deaf)), 'heard nothing');
  await bench.tasks.stop();
});

onBoth('errors fail a task, or are its result', async url => {
  const bench = await Bench.open(url);
  const refused = await bench.ended(await bench.task('refuse'));
  assert.deepEqual(refused.error, { code: -32099, message: 'not today', data: { why: 'rain' } });
  const broken = await bench.ended(await bench.task('break'));
  assert.deepEqual([said(broken), broken.result?.['isError']], ['broken', true]);
  await bench.tasks.stop();
});

onBoth('who does not know tasks is served inline, or refused', async url => {
  const bench = await Bench.open(url);
  const capabilities = {};
  bench.go.resolve();
  const inline = await bench.ask('tools/call', { name: 'hold', arguments: {} }, { capabilities });
  assert.deepEqual(inline.result?.['content'], text('held').content);
  const required = await bench.ask('tools/call', { name: 'double', arguments: { n: 2 } }, { capabilities });
  assert.deepEqual([required.status, required.error?.code], [400, -32021]);
  const plain = await bench.ask('tools/call', { name: 'greet', arguments: {} });
  assert.deepEqual(plain.result?.['content'], text('hello').content);
  const bad = await bench.ended(await bench.task('double', { n: 'x' }));
  assert.equal(bad.result?.['isError'], true);
  await bench.tasks.stop();
});

onBoth('progress is the status message', async url => {
  const bench = await Bench.open(url);
  const taskId = await bench.task('double', { n: 21 });
  await until(async () => (await bench.get(taskId)).statusMessage === '1/2');
  bench.go.resolve();
  assert.equal(said(await bench.ended(taskId)), '42');
  await bench.tasks.stop();
});

onBoth('a tool becomes a task when it detaches', async url => {
  const bench = await Bench.open(url);
  const call = { name: 'detaching', arguments: {} };
  const first = await bench.ask('tools/call', call);
  assert.equal(first.result?.['resultType'], 'input_required');
  const second = await bench.ask('tools/call', { ...call, inputResponses: { who: accept('Ada') } });
  assert.equal(second.result?.['resultType'], 'task');
  bench.go.resolve();
  assert.equal(said(await bench.ended(second.result?.['taskId'] as string)), 'detached');
  await bench.tasks.stop();
});

onBoth('what a server that stops had begun fails as stopped', async url => {
  const bench = await Bench.open(url);
  const other = await Bench.open(url);
  const taskId = await bench.task('hold');
  await bench.began.promise;
  await bench.tasks.stop();
  if (url !== 'memory:') {
    const task = await other.get(taskId);
    assert.deepEqual([task.status, task.statusMessage], ['failed', 'The server stopped before the work was done']);
  }
  assert.equal(bench.tasks.manager.closed, true);
  await other.tasks.stop();
});

onBoth('notifications tell how tasks go', async url => {
  const bench = await Bench.open(url);
  const taskId = await bench.task('double', { n: 1 }, 'alice');
  const foreign = await bench.task('hold', {}, 'bob');
  const notifications = { taskIds: [taskId, foreign, 'unknown', taskId] };
  const refused = await bench.ask('subscriptions/listen', { notifications }, { capabilities: {} });
  assert.deepEqual([refused.status, refused.error?.code], [400, -32021]);
  const bad = await bench.ask('subscriptions/listen', { notifications: { taskIds: [1] } });
  assert.equal(bad.error?.code, -32602);

  const response = await bench.send('subscriptions/listen', { notifications }, { user: 'alice' });
  const whole = response.text();
  await until(async () => (await bench.get(taskId, 'alice')).statusMessage === '1/2');
  bench.go.resolve();
  const messages = [...(await whole).matchAll(/^data: (.*)$/gm)].map(found => JSON.parse(found[1] as string));
  assert.deepEqual(messages[0].params.notifications, { taskIds: [taskId] });
  const told = messages.filter(message => message.method === 'notifications/tasks');
  assert.ok(told.every(message => message.params.taskId === taskId));
  assert.ok(told.every(message => message.params._meta[`${META}/subscriptionId`] === 1));
  assert.equal(told.at(-1).params.status, 'completed');
  assert.equal(messages.at(-1).result.resultType, 'complete');
  await bench.tasks.stop();
});

test('a subscription to other changes too goes on after the last task', async () => {
  const bench = await Bench.open('memory:');
  bench.go.resolve();
  const taskId = await bench.task('hold');
  await bench.ended(taskId);
  const controller = new AbortController();
  const notifications = { taskIds: [taskId], toolsListChanged: true };
  const more = { signal: controller.signal };
  const response = await bench.send('subscriptions/listen', { notifications }, more);
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let seen = '';
  const read = async (part: string): Promise<void> => {
    while (!seen.includes(part)) {
      const { value } = await reader.read();
      seen += Buffer.from(value as Uint8Array).toString();
    }
  };
  await read('"status":"completed"');
  bench.notify.toolsChanged();
  await read('notifications/tools/list_changed');
  assert.match(seen, /"notifications":\{"toolsListChanged":true,"taskIds":\[/);
  controller.abort();
  assert.equal((await reader.read()).done, true);
  await bench.tasks.stop();
});

test('a full manager refuses further tasks', async () => {
  const bench = await Bench.open('memory:', { maximumRetainedTasks: 1 });
  await bench.task('hold');
  const { error } = await bench.ask('tools/call', { name: 'hold', arguments: {} });
  assert.deepEqual([error?.code, error?.message], [-32603, 'Too many tasks are retained']);
  await bench.tasks.stop();
});

test('a server that has tools already is refused', async () => {
  await using tasks = await TasksExtension.open();
  const server: ToolServer & McpServer = new McpServer({ name: 'late', version: '1' });
  server.registerTool('first', {}, () => text('first'));
  assert.throws(() => tasks.registerTaskTool(server, 'second', {}, () => text('second')), /before the first/);
});

test('without a lease a task lives on when its server dies', async () => {
  const bench = await Bench.open('memory:', { leaseMs: null });
  const taskId = await bench.task('hold');
  assert.equal('lease' in ((await bench.tasks.manager.findTask(taskId)) ?? {}), false);
  bench.go.resolve();
  assert.equal(said(await bench.ended(taskId)), 'held');
  await bench.tasks.stop();
});
