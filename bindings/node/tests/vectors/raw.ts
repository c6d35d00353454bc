/** Calls the C functions with bytes and tokens, as the header declares them: nothing of the package is in between. */

import assert from 'node:assert/strict';
import * as koffi from 'koffi';
import { library } from '../../dist/native.js';
import { FUNCTIONS, STATUSES } from '../header.js';
import { dumps, parse, type Value, type Values } from './values.js';

/** What a call gave. The main output is there as a text, as a value, or as both. */
export interface Outcome {
  status: string;
  text: string | null;
  value: Value;
  revision?: bigint;
  opened?: unknown;
}

const native = koffi.load(library.path);
const free = native.func('taskhold_string_free', 'void', ['void *']);
const names = new Map([...STATUSES].map(([name, value]) => [value, name]));

function foreign(type: string): string {
  if (type === 'const char *') return 'str';
  return type.endsWith('*') ? 'void *' : type === 'taskhold_status' ? 'int32_t' : type;
}

const bound = new Map<string, ReturnType<typeof native.func>>();

function functionOf(name: string): ReturnType<typeof native.func> {
  const declared = FUNCTIONS.get(name);
  assert.ok(declared);
  const one =
    bound.get(name) ??
    native.func(
      name,
      foreign(declared.returns),
      declared.parameters.map(parameter => foreign(parameter.type)),
    );
  bound.set(name, one);
  return one;
}

/** What crosses for a C string. */
function cText(value: Value): string | Uint8Array | null {
  if (value === null) return null;
  if (value instanceof Uint8Array) return Buffer.concat([value, Buffer.alloc(1)]);
  const text = typeof value === 'string' ? value : dumps(value);
  assert.ok(!text.includes('\0'), 'a C string cannot hold a NUL');
  return text;
}

/** Makes the call; the arguments are expanded, and handles among them are given by token. */
export function call(name: string, receiver: bigint | null, args: Values, other: bigint | null): Outcome {
  const declared = FUNCTIONS.get(`taskhold_${name}`);
  assert.ok(declared);
  const cells: { name: string; type: string; cell: BigUint64Array }[] = [];
  const given = declared.parameters.map((parameter, place) => {
    if (parameter.name.startsWith('out_')) {
      // Nonsense, so that a call that fails to clear it shows.
      const cell = new BigUint64Array([parameter.type === 'int32_t *' ? 77n : 77n << 32n]);
      cells.push({ ...parameter, cell });
      return cell;
    }
    if (parameter.type.startsWith('taskhold_')) return place === 0 ? receiver : other;
    const value = args[parameter.name] ?? null;
    if (parameter.type === 'const char *') return cText(value);
    return BigInt(value as string | number | bigint);
  });
  const result = functionOf(`taskhold_${name}`)(...given) as number | string;
  if (declared.returns !== 'taskhold_status') return { status: 'ok', text: String(result), value: result };

  const status = names.get(result as number) as string;
  const outcome: Outcome = { status, text: null, value: null };
  let error: string | null = null;
  for (const { name: parameter, type, cell } of cells) {
    const value = cell[0] as bigint;
    if (type === 'char **') {
      const text = value === 0n ? null : koffi.decode.string(value);
      if (value !== 0n) free(value);
      if (parameter === 'out_error') error = text;
      else [outcome.text, outcome.value] = [text, text === null ? null : readable(text)];
    } else if (type === 'int32_t *') {
      const number = new Int32Array(cell.buffer)[0] as number;
      [outcome.text, outcome.value] = [String(number), number];
    } else if (type === 'uint64_t *') outcome.revision = value;
    else outcome.opened = value;
    const cleared = parameter === 'out_error' || value === 0n;
    if (status !== 'ok') assert.ok(cleared, `${parameter} was not cleared`);
  }
  if (status === 'ok' || name.endsWith('_close')) {
    assert.equal(error, null, 'a call that succeeds leaves no error');
  } else {
    assert.ok(error !== null, 'a failed call says why');
    outcome.text = error;
    outcome.value = parse(error);
    assert.equal((outcome.value as Values)['status'], status);
  }
  return outcome;
}

/** The value of a main output: JSON, or the text itself where it is none (json_get). */
export function readable(text: string): Value {
  try {
    return parse(text);
  } catch {
    return text;
  }
}
