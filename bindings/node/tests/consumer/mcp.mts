// A server that imports the plug: its handlers have types, and the SDK's classes fit, whichever way they came.

import { McpServer } from '@modelcontextprotocol/server';
import { TasksExtension } from 'taskhold/mcp';
import { z } from 'zod';

await using tasks = await TasksExtension.open();
const server = new McpServer({ name: 'consumer', version: '1' });
tasks.registerTaskTool(server, 'double', { inputSchema: z.object({ n: z.number() }) }, ({ n }, ctx) => {
  const doubled: number = 2 * n;
  const { signal }: { signal: AbortSignal } = ctx.mcpReq;
  return { content: [{ type: 'text', text: `${doubled} ${signal.aborted}` }] };
});
tasks.registerTaskTool(server, 'plain', { taskSupport: 'required' }, ctx => {
  return { content: [{ type: 'text', text: ctx.mcpReq.method }] };
});
console.log('mcp');
