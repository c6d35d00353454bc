// The same, required.

import a2a = require('taskhold/a2a');
import mcp1 = require('taskhold/mcp1');

async function main(): Promise<void> {
  const tasks = await mcp1.DurableTaskStore.open();
  const agent = await a2a.DurableTaskStore.open();
  for (const store of [tasks, agent]) store.close();
  console.log('stores-required');
}

void main();
