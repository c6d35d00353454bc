/** Leaves everything open, and is idle, waits, or ends in the same turn as a change. usage: node ending.js URL idle|waiting|changing */

import { TaskManager } from 'taskhold';

async function main(url: string, how: string): Promise<void> {
  const tasks = await TaskManager.open(url);
  const events = await tasks.openEvents();
  const { task, revision } = await tasks.createTask({ endpoint: '/mcp', origin: {}, queue: 'q' });
  await events.next();
  await tasks.waitTask(task.taskId, revision, { timeoutMs: 1 }).catch(() => {});
  if (how === 'idle') return;
  void tasks.waitTask(task.taskId, revision);
  void tasks.worker('q', () => new Promise(() => {}));
  void events.next();
  if (how === 'changing') {
    await new Promise(resolve => setTimeout(resolve, 50));
    void tasks.createTask({ endpoint: '/mcp', origin: {} });
    process.exit(7);
  }
  // What waits keeps the process alive by itself.
  setTimeout(() => process.exit(7), 200).unref();
}

const [url, how] = process.argv.slice(2) as [string, string];
void main(url, how);
