// What the package adds to the C calls below it, in nanoseconds. usage: node --expose-gc overhead.mjs

import koffi from 'koffi';
import { TaskManager } from 'taskhold';
import native from '../dist/native.js';

const { library } = native;
const tasks = await TaskManager.open();
const { task } = await tasks.createTask({ endpoint: '/mcp', origin: { name: 'search' } });
const { taskId } = task;
const abi = koffi.load(library.path).func('taskhold_abi_version', 'uint32_t', []);
const token = tasks._token;

async function timed(name, calls, call) {
  const rounds = [];
  for (let round = 0; round < 25; round += 1) {
    globalThis.gc?.();
    const start = process.hrtime.bigint();
    for (let n = 0; n < calls; n += 1) await call(n);
    rounds.push(Number(process.hrtime.bigint() - start) / calls);
  }
  console.log(`| ${name} | ${Math.min(...rounds).toFixed(0)} |`);
}

console.log(
  `\nThe package on Node ${process.versions.node}, over memory: ns a call, each awaited, the best of 25 rounds\n\n| call | ns |\n|---|---:|`,
);
await timed('nothing', 40_000, () => undefined);
await timed('koffi: taskhold_abi_version', 40_000, () => abi());
await timed(
  'the library: find_task, its text',
  20_000,
  () => library.invoke('manager_find_task', [token, taskId]).text,
);
await timed('findTaskJson', 20_000, () => tasks.findTaskJson(taskId));
await timed('findTask, parsed', 20_000, () => tasks.findTask(taskId));
await timed('markTaskWorkingJson', 10_000, n => tasks.markTaskWorkingJson(taskId, { statusMessage: `${n}` }));
tasks.close();
