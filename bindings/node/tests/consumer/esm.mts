// A program that imports the package: it is compiled by tsc --strict, and run.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { Json, NotFoundError, TaskManager, type TaskRecord } from 'taskhold';

const required = createRequire(import.meta.url)('taskhold') as typeof import('taskhold');
// One of each class, whichever way it came.
assert.equal(required.TaskManager, TaskManager);

await using tasks = await TaskManager.open();
const record: TaskRecord = await tasks.createTask({ endpoint: '/mcp', origin: new Json('{"n":1.10}') });
const message: string | undefined = record.task.statusMessage;
assert.equal(message, undefined);
await assert.rejects(tasks.completeTask('unknown', {}), NotFoundError);
console.log('esm');
