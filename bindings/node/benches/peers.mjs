// The package against the InMemoryTaskStore of the MCP TypeScript SDK 1.x: the time of a call, and how long the event loop is held
// up while a thousand tasks are waited for. usage: node --expose-gc peers.mjs

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks';
import { TaskManager } from 'taskhold';
import { DurableTaskStore } from 'taskhold/mcp1';

const RETAINED = 1_000;
const WAITS = 1_000;
const WATCHED_MS = 3_000;
const result = JSON.parse(readFileSync(new URL('../../../benches/peers/result.json', import.meta.url), 'utf8'));
const request = { method: 'tools/call', params: { name: 'search', arguments: { query: 'open cafes' } } };
const parameters = { ttl: 3_600_000, pollInterval: 1_000 };
const folder = mkdtempSync(path.join(tmpdir(), 'taskhold-peers-'));
const sqlite = name => `sqlite:${path.join(folder, name)}`;

/** Microseconds of a call, the best of five rounds. */
async function timed(calls, call) {
  const rounds = [];
  for (let round = 0; round < 5; round += 1) {
    globalThis.gc?.();
    const start = process.hrtime.bigint();
    for (let n = 0; n < calls; n += 1) await call(round * calls + n);
    rounds.push(Number(process.hrtime.bigint() - start) / calls / 1000);
  }
  return Math.min(...rounds);
}

async function calls(store, scale) {
  const ids = [];
  for (let n = 0; n < RETAINED; n += 1) ids.push((await store.createTask(parameters, n, request)).taskId);
  const any = n => ids[(n * 7919) % RETAINED];
  const created = [];
  const few = Math.max(20, 500 * scale);
  return {
    getTask: await timed(20_000 * scale, n => store.getTask(any(n))),
    updateTaskStatus: await timed(5_000 * scale, n => store.updateTaskStatus(any(n), 'working', `Step ${n}`)),
    createTask: await timed(few, async n => {
      created.push((await store.createTask(parameters, n, request)).taskId);
    }),
    storeTaskResult: await timed(few, n => store.storeTaskResult(created[n], 'completed', result)),
  };
}

/** Calls a second of 64 callers at once. */
async function together(store) {
  const start = process.hrtime.bigint();
  const each = 20;
  const caller = async () => {
    for (let n = 0; n < each; n += 1) await store.createTask(parameters, n, request);
  };
  await Promise.all(Array.from({ length: 64 }, caller));
  return (64 * each) / (Number(process.hrtime.bigint() - start) / 1e9);
}

/** The delay of the event loop, in milliseconds, while something goes on. */
async function delayed(begin) {
  const end = await begin();
  await sleep(200);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const cpu = process.cpuUsage();
  delay.enable();
  await sleep(WATCHED_MS);
  delay.disable();
  const { user, system } = process.cpuUsage(cpu);
  await end();
  const ms = at => (at / 1e6).toFixed(2);
  return `${ms(delay.mean)} | ${ms(delay.percentile(99))} | ${ms(delay.max)} | ${((user + system) / WATCHED_MS / 10).toFixed(1)} %`;
}

async function waiting(url) {
  const tasks = await TaskManager.open(url, { maximumRetainedTasks: 10_000 });
  const waits = [];
  for (let n = 0; n < WAITS; n += 1) {
    const { task, revision } = await tasks.createTask({ endpoint: '/mcp', origin: request });
    waits.push(tasks.waitTask(task.taskId, revision).catch(() => {}));
  }
  return async () => {
    tasks.close();
    await Promise.all(waits);
  };
}

/** What a client of the 1.x store does: it asks each second. */
async function polling() {
  const store = new InMemoryTaskStore();
  const timers = [];
  for (let n = 0; n < WAITS; n += 1) {
    const { taskId, pollInterval } = await store.createTask(parameters, n, request);
    await sleep(0);
    timers.push(setInterval(() => store.getTask(taskId), pollInterval));
  }
  return async () => {
    for (const timer of timers) clearInterval(timer);
    store.cleanup();
  };
}

const { version } = JSON.parse(
  readFileSync(new URL('../node_modules/@modelcontextprotocol/sdk/package.json', import.meta.url), 'utf8'),
);
try {
  console.log(
    `\nMCP tasks from Node ${process.versions.node}: MCP TypeScript SDK ${version}, and taskhold in its place; µs a call, the best of five rounds\n`,
  );
  const options = { maximumRetainedTasks: 1_000_000 };
  const columns = {
    InMemoryTaskStore: await calls(new InMemoryTaskStore(), 1),
    'taskhold, memory': await calls(await DurableTaskStore.open('memory:', options), 1),
    'taskhold, SQLite, each commit on the disk': await calls(await DurableTaskStore.open(sqlite('calls.db')), 0.02),
  };
  console.log(
    `| operation | ${Object.keys(columns).join(' | ')} |\n|---|${'---:|'.repeat(Object.keys(columns).length)}`,
  );
  for (const operation of Object.keys(columns.InMemoryTaskStore)) {
    const cells = Object.values(columns).map(column => column[operation].toFixed(2));
    console.log(`| ${operation} | ${cells.join(' | ')} |`);
  }
  const rate = await together(await DurableTaskStore.open(sqlite('together.db')));
  console.log(`\n64 callers at once over SQLite: ${Math.round(rate)} tasks created a second`);

  console.log(`\nThe event loop's delay in ms while ${WAITS} tasks are waited for; with nothing to do it is 1\n`);
  console.log('| who waits | mean | p99 | at most | processor |\n|---|---:|---:|---:|---:|');
  console.log(`| nobody | ${await delayed(async () => async () => {})} |`);
  console.log(`| InMemoryTaskStore, asked each second | ${await delayed(polling)} |`);
  console.log(`| taskhold, memory | ${await delayed(() => waiting('memory:'))} |`);
  console.log(`| taskhold, SQLite | ${await delayed(() => waiting(sqlite('waits.db')))} |`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
