/** A whole MCP task, from the tool call to the client's poll. */

import { TaskManager } from 'taskhold';

const tasks = await TaskManager.open();
// A tool call will take long: the server creates a task and hands out its id.
const { task } = await tasks.createTask({
  endpoint: '/mcp',
  origin: { name: 'hello' },
  authorizationPartition: 'alice',
});
// The worker completes it later.
await tasks.completeTask(task.taskId, { content: [{ type: 'text', text: 'Hello, Luca!' }] });
// Alice's client polls: the manager answers the whole request.
const request = { jsonrpc: '2.0', id: 7, method: 'tasks/get', params: { taskId: task.taskId } };
const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
console.log(await tasks.handleRequestJson('/mcp', 'alice', request, capabilities));
tasks.close();
