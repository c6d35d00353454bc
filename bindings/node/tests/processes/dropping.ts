/** Drops objects, with and without a use, and prints whether all were closed. usage: node --expose-gc dropping.js FOLDER */

import path from 'node:path';
import { describe, SessionStore, StateProvider, Store, TaskManager } from 'taskhold';

const ROUNDS = 20;

async function drop(url: string): Promise<void> {
  const store = await Store.open(url);
  const tasks = await TaskManager.open(store);
  const sessions = await SessionStore.open(store);
  const agent = await StateProvider.open(store);
  const events = await tasks.openEvents();
  const { task, revision } = await tasks.createTask({ endpoint: '/mcp', origin: {} });
  await tasks.waitTask(task.taskId, revision, { timeoutMs: 0 }).catch(() => {});
  await tasks.waitTask(task.taskId, revision, { timeoutMs: 1 }).catch(() => {});
  await events.next();
  await events.next({ timeoutMs: 1 }).catch(() => {});
  await sessions.create('/mcp');
  await agent.saveTask(null, { id: 't', status: { state: 'working' } });
}

async function main(folder: string): Promise<void> {
  const before = describe().liveHandles;
  for (let n = 0; n < ROUNDS; n += 1) {
    await drop('memory:');
    if (n % 4 === 0) await drop(`sqlite:${path.join(folder, `${n}.db`)}`);
  }
  // Registered clean-ups run some turns after a collection.
  for (let n = 0; n < 1000 && describe().liveHandles > before; n += 1) {
    globalThis.gc?.();
    await new Promise(resolve => setTimeout(resolve, 5));
  }
  console.log(describe().liveHandles === before ? 'all closed' : `${describe().liveHandles - before} are open`);
}

void main(process.argv[2] as string);
