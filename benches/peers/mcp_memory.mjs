// The MCP TypeScript SDK's InMemoryTaskStore. Prints one JSON object a line: operation, retained, who, ns a call.
// usage: node --expose-gc mcp_memory.mjs FOLDER (in which the SDK is installed)

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const sdk = join(process.argv[2], 'node_modules/@modelcontextprotocol/sdk');
const { InMemoryTaskStore } = await import(pathToFileURL(join(sdk, 'dist/esm/experimental/tasks/index.js')).href);
const { version } = JSON.parse(readFileSync(join(sdk, 'package.json'), 'utf8'));
const result = JSON.parse(readFileSync(new URL('result.json', import.meta.url), 'utf8'));

const ROUNDS = 3;
const BATCH = 500;
const request = { method: 'tools/call', params: { name: 'search', arguments: { query: 'open cafes' } } };
const parameters = { ttl: 3_600_000, pollInterval: 1_000 };
const print = line => console.log(JSON.stringify(line));

async function timed(operation, retained, calls, call) {
  const start = process.hrtime.bigint();
  for (let n = 0; n < calls; n++) await call(n);
  const ns = Number(process.hrtime.bigint() - start) / calls;
  return { operation, retained, who: 'peer', ns };
}

// One store with `retained` tasks; the figures of its calls, each over tasks in random order.
async function round(retained) {
  const store = new InMemoryTaskStore();
  const ids = [];
  for (let n = 0; n < retained; n++) ids.push((await store.createTask(parameters, n, request)).taskId);
  const order = Array.from({ length: 10_000 }, () => ids[Math.floor(Math.random() * ids.length)]);
  globalThis.gc();
  const created = [];
  const lines = [
    await timed('getTask', retained, order.length, n => store.getTask(order[n])),
    await timed('updateTaskStatus', retained, order.length, n =>
      store.updateTaskStatus(order[n], 'working', 'Step 3 of 7')),
    await timed('listTasks, 10', retained, retained > 1_000 ? 3 : 100, () => store.listTasks()),
    await timed('createTask', retained, BATCH, async n => {
      created.push((await store.createTask(parameters, n, request)).taskId);
    }),
    await timed('storeTaskResult', retained, BATCH, n => store.storeTaskResult(created[n], 'completed', result)),
  ];
  store.cleanup();
  return lines;
}

print({ peer: `MCP TypeScript SDK ${version}, Node ${process.versions.node}` });
// Two rounds for the compiler, whose figures are not printed.
await round(1_000);
await round(1_000);
for (const retained of [1_000, 100_000]) {
  for (let n = 0; n < ROUNDS; n++) (await round(retained)).forEach(print);
}
