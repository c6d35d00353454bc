/**
 * An MCP server on the official SDK whose slow tools are durable tasks: Streamable HTTP, tasks in an SQLite file.
 *
 *     node server.ts [--port 8000] [--store sqlite:tasks.db] [--users ann,bob] [--lease-ms 30000] [--json] [--without-tasks]
 */

import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  type AuthInfo,
  acceptedContent,
  createMcpHandler,
  inputRequired,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
  type ServerNotifier,
} from '@modelcontextprotocol/server';
import { TasksExtension } from 'taskhold/mcp';
import { z } from 'zod';

const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] });

/** A question in a form with one field. */
const asked = (message: string, requestedSchema: typeof NAME | typeof CONFIRMATION) => ({
  mode: 'form' as const,
  message,
  requestedSchema,
});
const NAME = { type: 'object' as const, properties: { name: { type: 'string' as const } }, required: ['name'] };
const CONFIRMATION = {
  type: 'object' as const,
  properties: { confirm: { type: 'boolean' as const } },
  required: ['confirm'],
};

/** Tells how far a tool is: the task's status message. */
const progress = (ctx: ServerContext, message: string) =>
  ctx.mcpReq.notify({
    method: 'notifications/progress',
    params: { progressToken: ctx.mcpReq._meta?.progressToken ?? 0, progress: 0, message },
  });

/** Registers the tools that may run as tasks. */
export function addTools(server: McpServer, tasks: TasksExtension): void {
  const seconds = z.number().default(1);
  const inputSchema = z.object({ seconds, label: z.string().default('work') });
  const description = 'Compute for a while, and tell how far it is.';
  tasks.registerTaskTool(server, 'slow_compute', { description, inputSchema }, async ({ seconds, label }, ctx) => {
    const steps = Math.max(1, Math.round(seconds));
    for (let step = 1; step <= steps; step += 1) {
      await progress(ctx, `${label}: step ${step} of ${steps}`);
      await sleep((seconds * 1000) / steps, undefined, { signal: ctx.mcpReq.signal });
    }
    return text(`${label} took ${seconds} seconds`);
  });

  // It fails after a second: the task completes, with a result that is an error.
  tasks.registerTaskTool(server, 'failing_job', { taskSupport: 'required' }, async ctx => {
    await sleep(1000, undefined, { signal: ctx.mcpReq.signal });
    throw new Error('the job did not succeed');
  });

  // It ends with a JSON-RPC error: the task fails.
  tasks.registerTaskTool(server, 'protocol_error_job', {}, async () => {
    await sleep(100);
    throw new ProtocolError(ProtocolErrorCode.InternalError, 'the job broke the protocol');
  });

  // It asks before deleting a file; nothing is deleted, this is an example.
  const filename = z.object({ filename: z.string() });
  const required = { taskSupport: 'required' as const };
  tasks.registerTaskTool(
    server,
    'confirm_delete',
    { ...required, inputSchema: filename },
    async ({ filename }, ctx) => {
      const answer = await ctx.mcpReq.elicitInput(asked(`Delete ${filename}?`, CONFIRMATION));
      const deleted = answer.action === 'accept' && answer.content?.['confirm'] === true;
      return text(`${deleted ? 'Deleted' : 'Kept'} ${filename}`);
    },
  );

  // It asks two questions at once.
  tasks.registerTaskTool(server, 'multi_input', required, async ctx => {
    const [name, confirmation] = await Promise.all([
      ctx.mcpReq.elicitInput(asked('What is your name?', NAME)),
      ctx.mcpReq.elicitInput(asked('Shall I go on?', CONFIRMATION)),
    ]);
    return text(`name: ${name.action}, confirmation: ${confirmation.action}`);
  });

  // It asks for a name in the foreground, then goes on as a task.
  const later = { ...required, detach: 'tool' as const };
  tasks.registerTaskTool(server, 'test_tool_with_task', later, async ctx => {
    const answer = acceptedContent(ctx.mcpReq.inputResponses, 'user_name', z.object({ name: z.string() }));
    if (answer === undefined) {
      const question = inputRequired.elicit(asked('What is your name?', NAME));
      return inputRequired({ inputRequests: { user_name: question } });
    }
    await tasks.detach();
    await sleep(200);
    return text(`Hello, ${answer.name}!`);
  });
}

/** Makes the server of one request. */
export function makeServer(tasks: TasksExtension | null): McpServer {
  const server = new McpServer({ name: 'taskhold-example', version: '1' });
  if (tasks !== null) addTools(server, tasks);
  const greeting = { description: 'Greet at once.', inputSchema: z.object({ name: z.string() }) };
  server.registerTool('greet', greeting, ({ name }) => text(`Hello, ${name}!`));
  return server;
}

/** Each user's token is the name: a real server checks what an authorization server issued. */
function authorize(request: IncomingMessage, users: string[]): AuthInfo | undefined {
  const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
  if (token === undefined || !users.includes(token)) return undefined;
  return { token, clientId: 'example', scopes: [], extra: { sub: token } };
}

/** How the program was started. */
export const options = {
  port: { type: 'string', default: '8000' },
  store: { type: 'string', default: 'sqlite:tasks.db' },
  users: { type: 'string', default: '' },
  'lease-ms': { type: 'string', default: '30000' },
  json: { type: 'boolean', default: false },
  'without-tasks': { type: 'boolean', default: false },
} as const;

/** Serves until SIGTERM or SIGINT. */
export async function serve(
  values: ReturnType<typeof parseArgs<{ options: typeof options }>>['values'],
  make: (tasks: TasksExtension | null, notify: ServerNotifier) => McpServer = makeServer,
): Promise<void> {
  const given = { leaseMs: Number(values['lease-ms']), pollIntervalMs: 200 };
  const tasks = values['without-tasks'] ? null : await TasksExtension.open(values.store, given);
  const responseMode = values.json ? ('json' as const) : ('auto' as const);
  const handler = createMcpHandler(() => make(tasks, handler.notify), { responseMode });
  const node = toNodeHandler({ fetch: tasks === null ? handler.fetch : tasks.fetch(handler) });
  const users = values.users === '' ? [] : values.users.split(',');
  const http = createServer((request, response) => {
    if (users.length > 0) {
      const auth = authorize(request, users);
      if (auth === undefined) {
        response.writeHead(401).end();
        return;
      }
      Object.assign(request, { auth });
    }
    void node(request, response);
  });
  await new Promise<void>(resolve => http.listen(Number(values.port), '127.0.0.1', resolve));
  console.log(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
  const stop = async (): Promise<void> => {
    http.close();
    await tasks?.stop();
    await handler.close();
    http.closeAllConnections();
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void stop());
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await serve(parseArgs({ options }).values);
