/** The table of the package's functions is the header's, and its version that of the repository. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import * as taskhold from 'taskhold';
import * as errors from '../dist/errors.js';
import { ABI_VERSION, NOT_BOUND, SIGNATURES, type Signature, WAIT_FOREVER } from '../dist/native.js';
import { CONSTANTS, FUNCTIONS, ROOT, STATUSES } from './header.js';

/** Those that return no status are called by name. */
const OTHERS = ['taskhold_abi_version', 'taskhold_version', 'taskhold_status_name', 'taskhold_string_free'];

function kinds(signature: Signature): string[] {
  const outs = [...signature.gives, ...(signature.closes ? [] : ['text'])];
  return [...signature.takes, ...outs.map(out => `out ${out}`)];
}

function kind(type: string): string {
  if (type === 'const char *') return 'text';
  if (type === 'char **') return 'out text';
  if (/^taskhold_\w+ \*\*$/.test(type)) return 'out handle';
  if (/^taskhold_\w+ \*$/.test(type)) return 'handle';
  if (type === 'int32_t *') return 'out number';
  if (type === 'uint64_t *') return 'out revision';
  return type;
}

test('the header is read', () => {
  assert.ok(FUNCTIONS.size > 60);
  assert.equal(STATUSES.get('internal'), 99);
  assert.equal(STATUSES.size, 14);
});

test('every function is in the table, as the header declares it', () => {
  const bound = [...OTHERS, ...NOT_BOUND, ...Object.keys(SIGNATURES).map(name => `taskhold_${name}`)];
  assert.deepEqual(bound.sort(), [...FUNCTIONS.keys()].sort());
  for (const [name, signature] of Object.entries(SIGNATURES)) {
    const declared = FUNCTIONS.get(`taskhold_${name}`);
    assert.equal(declared?.returns, 'taskhold_status', name);
    assert.deepEqual(
      kinds(signature),
      declared?.parameters.map(one => kind(one.type)),
      name,
    );
  }
});

test('the constants are the header’s', () => {
  assert.equal(ABI_VERSION, CONSTANTS.get('ABI_VERSION'));
  assert.equal(WAIT_FOREVER, 2 ** 32 - 1);
  for (const [name, value] of Object.entries(taskhold.Rendering)) assert.equal(value, CONSTANTS.get(`RENDER_${name}`));
  for (const [name, value] of Object.entries(taskhold.Liveness)) assert.equal(value, CONSTANTS.get(`LIVENESS_${name}`));
  assert.equal([...CONSTANTS.keys()].filter(name => name.startsWith('RENDER_')).length, 3);
  assert.equal([...CONSTANTS.keys()].filter(name => name.startsWith('LIVENESS_')).length, 4);
});

test('every status has its class', () => {
  for (const [name, value] of STATUSES) {
    assert.equal(taskhold.statusName(value), name);
    if (value === 0) continue;
    const error = errors.fromNative(value, '{"reason":"x","message":"y","key":"k","limit":18446744073709551615}');
    assert.equal(error.status, name);
    assert.notEqual(error.constructor, taskhold.TaskholdError);
    assert.equal(error.name, error.constructor.name);
    assert.deepEqual([error.message, error.reason, error.key, error.limit], ['y', 'x', 'k', 2n ** 64n - 1n]);
  }
  assert.equal(errors.fromNative(77, null).constructor, taskhold.TaskholdError);
});

test('the version is that of the repository', () => {
  const cargo = /^version = "(.*)"$/m.exec(readFileSync(path.join(ROOT, 'Cargo.toml'), 'utf8'))?.[1];
  const read = (name: string): { version: string; packages?: Record<string, { version: string }> } =>
    JSON.parse(readFileSync(path.join(ROOT, 'bindings/node', name), 'utf8'));
  assert.equal(read('package.json').version, cargo);
  assert.equal(read('package-lock.json').version, cargo);
  assert.equal(read('package-lock.json').packages?.['']?.version, cargo);
  assert.equal(taskhold.version(), cargo);
});
