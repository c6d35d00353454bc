/** A client and the server of server.ts, which is killed and started again. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const here = import.meta.dirname;
const META = 'io.modelcontextprotocol';
const ENDED = ['completed', 'failed', 'cancelled'];

interface Task {
  taskId: string;
  status: string;
  statusMessage?: string;
  inputRequests?: Record<string, { params: { message: string } }>;
  result?: { content: { text: string }[] };
  error?: { message: string };
}

/** A server in a process of its own. */
class Server {
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(url: string, child: ChildProcess) {
    this.url = url;
    this.#child = child;
  }

  static async start(store: string): Promise<Server> {
    const program = path.join(here, 'server.ts');
    const options = ['--port', '0', '--store', store, '--users', 'ann,bob', '--lease-ms', '5000'];
    const child = spawn(process.execPath, [program, ...options], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [url] = (await once(createInterface(child.stdout), 'line')) as [string];
    return new Server(url, child);
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    this.#child.kill(signal);
    await once(this.#child, 'exit');
  }
}

/** Sends a request for a user, and gives its result. */
async function send<T>(server: Server, user: string, method: string, params: Record<string, unknown>): Promise<T> {
  const _meta = {
    [`${META}/protocolVersion`]: '2026-07-28',
    [`${META}/clientInfo`]: { name: 'story', version: '1' },
    [`${META}/clientCapabilities`]: { extensions: { [`${META}/tasks`]: {} }, elicitation: {} },
  };
  const headers = {
    authorization: `Bearer ${user}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    'mcp-name': String(params['taskId'] ?? params['name']),
  };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } });
  const response = await fetch(server.url, { method: 'POST', headers, body });
  const text = await response.text();
  const streams = response.headers.get('content-type')?.startsWith('text/event-stream');
  const message = streams ? [...text.matchAll(/^data: (.*)$/gm)].at(-1)?.[1] : text;
  const { result, error } = JSON.parse(message ?? '{}') as { result: T; error?: { code: number; message: string } };
  if (error !== undefined) throw new Error(`${error.code}: ${error.message}`);
  return result;
}

const call = (server: Server, name: string, args: object) =>
  send<Task>(server, 'ann', 'tools/call', { name, arguments: args });

/** Polls a task and tells how it goes, until it ends or something is asked. */
async function follow(server: Server, taskId: string): Promise<Task> {
  let said = '';
  for (;;) {
    const task = await send<Task>(server, 'ann', 'tasks/get', { taskId });
    const now = `${task.status}${task.statusMessage ? `: ${task.statusMessage}` : ''}`;
    if (now !== said) console.log(`  ${now}`);
    said = now;
    if (ENDED.includes(task.status) || task.inputRequests !== undefined) return task;
    await sleep(100);
  }
}

const folder = mkdtempSync(path.join(tmpdir(), 'taskhold-story-'));
const store = `sqlite:${path.join(folder, 'tasks.db')}`;
let server = await Server.start(store);
try {
  console.log('Ann calls a tool that takes a while. She gets a task, and asks how it goes:');
  const computing = await call(server, 'slow_compute', { seconds: 2, label: 'the answer' });
  console.log(`  ${(await follow(server, computing.taskId)).result?.content[0]?.text}`);

  console.log('Another tool asks her something first:');
  const deleting = await call(server, 'confirm_delete', { filename: 'old.txt' });
  const asking = await follow(server, deleting.taskId);
  const [key, question] = Object.entries(asking.inputRequests ?? {})[0] ?? [];
  console.log(`  ${question?.params.message} Yes.`);
  const inputResponses = { [String(key)]: { action: 'accept', content: { confirm: true } } };
  await send(server, 'ann', 'tasks/update', { taskId: deleting.taskId, inputResponses });
  console.log(`  ${(await follow(server, deleting.taskId)).result?.content[0]?.text}`);

  console.log('While a long one runs, the server is killed, and started again over the same file:');
  const long = await call(server, 'slow_compute', { seconds: 600 });
  await server.end('SIGKILL');
  server = await Server.start(store);
  console.log('The task is there. Its worker is not, so that it ends when nobody renews its lease:');
  console.log(`  ${(await follow(server, long.taskId)).error?.message}`);

  console.log('Bob knows its id, and is told what he would be told of none:');
  const refusal = await send(server, 'bob', 'tasks/get', { taskId: long.taskId }).catch(
    (error: Error) => error.message,
  );
  console.log(`  ${refusal}`);
} finally {
  await server.end('SIGTERM');
  rmSync(folder, { recursive: true, force: true });
}
