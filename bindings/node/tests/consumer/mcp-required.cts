// The same, required.

import sdk = require('@modelcontextprotocol/server');
import plug = require('taskhold/mcp');

async function main(): Promise<void> {
  const tasks = await plug.TasksExtension.open();
  const server = new sdk.McpServer({ name: 'consumer', version: '1' });
  tasks.registerTaskTool(server, 'plain', {}, () => ({ content: [] }));
  await tasks.stop();
  console.log('mcp-required');
}

void main();
