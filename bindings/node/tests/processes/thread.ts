/** Creates a task, and waits for it for ever. Run as a worker thread with the URL of a store. */

import { workerData } from 'node:worker_threads';
import { TaskManager } from 'taskhold';

async function main(url: string): Promise<void> {
  const tasks = await TaskManager.open(url);
  const { task, revision } = await tasks.createTask({ endpoint: '/mcp', origin: {} });
  await tasks.waitTask(task.taskId, revision);
}

void main(workerData as string);
