// A program that requires the package: it is compiled by tsc --strict, and run.

import taskhold = require('taskhold');

async function main(): Promise<void> {
  const tasks: taskhold.TaskManager = await taskhold.TaskManager.open('memory:');
  const { task } = await tasks.createTask({ endpoint: '/mcp', origin: {} });
  await tasks.failTask(task.taskId, { code: -1, message: 'x' });
  tasks.close();
  console.log('cjs');
}

void main();
