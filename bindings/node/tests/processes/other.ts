/** Completes a task in a process of its own, and creates one in a queue. usage: node other.js URL TASK */

import { TaskManager } from 'taskhold';

async function main(url: string, taskId: string): Promise<void> {
  await using tasks = await TaskManager.open(url);
  await tasks.completeTask(taskId, {});
  await tasks.createTask({ endpoint: '/mcp', origin: {}, queue: 'q' });
}

const [url, taskId] = process.argv.slice(2) as [string, string];
void main(url, taskId).then(() => process.disconnect?.());
