/** Reads the vector files and checks their shape, so that a mistake in one is an error and not a step left out. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { FUNCTIONS, ROOT, STATUSES } from '../header.js';
import { MATCHERS, PLACEHOLDERS } from './matching.js';
import { isObject, parse, type Value, type Values } from './values.js';

const DIRECTORY = path.join(ROOT, 'tests/vectors');
const DEFAULT_EPOCH_MS = 1_764_498_600_000;
const BACKENDS = ['memory', 'sqlite', 'postgres'];
const RESERVED = ['url', 'options', 'backend', 'n'];
const SYSTEMS = ['manager', 'session_store', 'state_provider'];
const INTEGERS = ['int32_t', 'uint32_t', 'int64_t', 'uint64_t'];

/** One call, and what it must give. */
export interface Step {
  readonly call: string;
  readonly on: string | null;
  readonly args: Values;
  readonly as: string | null;
  readonly expect: Values;
  readonly save: Record<string, string>;
  readonly times: number;
}

/** A sequence of steps on a store of its own. */
export interface Case {
  readonly file: string;
  readonly name: string;
  readonly number: number;
  readonly backends: readonly string[];
  readonly epochMs: number;
  readonly raw: boolean;
  readonly steps: readonly Step[];
}

function known(value: Value | undefined, keys: readonly string[]): Values {
  assert.ok(isObject(value), 'should be an object');
  for (const key of Object.keys(value)) assert.ok(keys.includes(key), `nobody knows ${key}`);
  return value;
}

/** Every case of every file. */
export function load(): Case[] {
  const cases: Case[] = [];
  const files = readdirSync(DIRECTORY).filter(name => name.endsWith('.json'));
  for (const name of files.sort()) {
    const root = known(parse(readFileSync(path.join(DIRECTORY, name), 'utf8')), ['description', 'cases']);
    assert.ok(root['description']);
    const own = (root['cases'] as Value[]).map((one, at) => readCase(path.parse(name).name, one, cases.length + at));
    assert.equal(new Set(own.map(one => one.name)).size, own.length, `${name} has a name twice`);
    cases.push(...own);
  }
  return cases;
}

/** One case, checked. */
export function readCase(file: string, given: Value, number = 0): Case {
  const whole = known(given, ['name', 'about', 'backends', 'epoch_ms', 'raw', 'steps']);
  assert.ok(whole['about']);
  const backends = (whole['backends'] as string[] | undefined) ?? BACKENDS;
  for (const backend of backends) assert.ok(BACKENDS.includes(backend));
  const handles = new Map([
    ['clock', 'clock'],
    ['store', 'store'],
  ]);
  const steps = (whole['steps'] as Value[]).map(step => readStep(step, handles));
  assert.ok(steps.length > 0);
  assert.ok([undefined, true].includes(whole['raw'] as undefined | true));
  return {
    file,
    name: whole['name'] as string,
    number,
    backends,
    epochMs: (whole['epoch_ms'] as number | undefined) ?? DEFAULT_EPOCH_MS,
    raw: whole['raw'] === true,
    steps,
  };
}

/** One step, written out and checked; `handles` are the names that are known so far, with their kinds. */
function readStep(given: Value, handles: Map<string, string>): Step {
  const step = known(unabbreviated(given, handles), ['call', 'on', 'args', 'as', 'expect', 'save', 'times']);
  const call = step['call'] as string;
  const declared = FUNCTIONS.get(`taskhold_${call}`);
  assert.ok(declared, `no function ${call}`);
  const receiver = /^taskhold_\w+ \*$/.test(declared.parameters[0]?.type ?? '');
  assert.equal('on' in step, receiver, `on is for functions with a handle: ${call}`);
  const on = (step['on'] ?? null) as string | null;
  assert.ok(on === null || handles.has(on), `no handle ${on}`);

  const args = (step['args'] ?? {}) as Values;
  const ins = declared.parameters.filter((one, at) => !one.name.startsWith('out_') && !(at === 0 && receiver));
  for (const name of Object.keys(args))
    assert.ok(
      ins.some(one => one.name === name),
      `${call} takes no ${name}`,
    );
  for (const { name, type } of ins) {
    const value = args[name] ?? null;
    if (INTEGERS.includes(type)) assert.ok(/^(number|bigint|string)$/.test(typeof value), `${name} is a number`);
    else if (type.startsWith('taskhold_')) assert.ok(value === null || handles.has(value as string), `no ${value}`);
    else checkNumbers(value);
  }

  const opened = declared.parameters.find(one => /^taskhold_\w+ \*\*$/.test(one.type))?.type;
  assert.equal('as' in step, opened !== undefined, `as is for functions that open: ${call}`);
  if (opened !== undefined) handles.set(step['as'] as string, opened.slice('taskhold_'.length, -' **'.length));
  const expect = (step['expect'] ?? {}) as Values;
  checkExpectation(expect);
  const save = (step['save'] ?? {}) as Record<string, string>;
  for (const name of Object.keys(save)) assert.ok(!RESERVED.includes(name));
  const times = (step['times'] ?? 1) as number;
  assert.ok(Number.isInteger(times) && times > 0);
  return { call, on, args, as: (step['as'] ?? null) as string | null, expect, save, times };
}

/** `open`, `close`, `advance_ms` and `step_wall_ms` written out as calls. */
function unabbreviated(given: Value, handles: ReadonlyMap<string, string>): Values {
  assert.ok(isObject(given));
  const expect = 'expect' in given ? { expect: given['expect'] as Value } : {};
  if ('open' in given) {
    known(given, ['open', 'as', 'on', 'options', 'expect']);
    assert.ok(SYSTEMS.includes(given['open'] as string));
    const args = { options: given['options'] ?? null };
    return {
      call: `${given['open']}_open`,
      on: 'on' in given ? (given['on'] as Value) : 'store',
      as: given['as'] as Value,
      args,
      ...expect,
    };
  }
  if ('close' in given) {
    known(given, ['close', 'expect']);
    const name = given['close'] as string;
    return { call: `${handles.get(name)}_close`, on: name, ...expect };
  }
  for (const [short, call] of Object.entries({ advance_ms: 'clock_advance', step_wall_ms: 'clock_step_wall' })) {
    if (!(short in given)) continue;
    known(given, [short]);
    return { call, on: 'clock', args: { ms: given[short] as Value } };
  }
  return given;
}

/** Only what can be expected is expected. */
function checkExpectation(expect: Values): void {
  known(expect, ['status', 'reason', 'key', 'limit', 'out', 'revision']);
  const status = (expect['status'] ?? 'ok') as string;
  assert.ok(STATUSES.has(status), `no status ${status}`);
  if (status === 'ok') for (const name of ['reason', 'key', 'limit']) assert.ok(!(name in expect));
  if (!('out' in expect)) return;
  const matcher = known(expect['out'], MATCHERS);
  assert.ok(Object.keys(matcher).length > 0);
  assert.ok(!('null' in matcher) || Object.keys(matcher).length === 1);
  for (const kind of ['exact', 'subset']) checkExpected(matcher[kind] ?? null);
}

/** Numbers are whole, and placeholders stand for something. */
function checkExpected(value: Value): void {
  checkNumbers(value);
  if (typeof value === 'string' && value.startsWith('$') && !value.startsWith('${')) {
    assert.ok(PLACEHOLDERS.includes(value), `${value} stands for nothing`);
  }
  for (const part of parts(value)) checkExpected(part);
}

/** JSON parsers spell other numbers than whole ones of 64 bits differently. */
function checkNumbers(value: Value): void {
  if (typeof value === 'string') assert.ok(!value.startsWith('\u0001number:'), 'a number is not whole');
  if (typeof value === 'number') assert.ok(Number.isInteger(value), `${value} is no whole number`);
  if (typeof value === 'bigint') assert.ok(value >= -(2n ** 63n) && value < 2n ** 64n, `${value} is no 64 bits`);
  for (const part of parts(value)) checkNumbers(part);
}

function parts(value: Value): Value[] {
  if (Array.isArray(value)) return value;
  return isObject(value) ? Object.values(value) : [];
}
