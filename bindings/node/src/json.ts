/** JSON texts for the library, and what would not survive the crossing as a C string. */

import { InvalidArgumentError } from './errors.js';

/**
 * JSON text that crosses byte for byte, where a value would be written by `JSON.stringify`: numbers keep their digits and
 * members their order. Anywhere in a payload.
 *
 * ```ts
 * await tasks.completeTask(taskId, new Json('{"price":1.10}'));
 * ```
 */
export class Json {
  /** The text. */
  readonly text: string;

  /** @param text a JSON text; the library checks it when it is used. */
  constructor(text: string) {
    if (typeof text !== 'string') throw new TypeError('a JSON text is a string');
    this.text = text;
  }

  /** Tells the fast writer that it cannot write this. */
  toJSON(): never {
    throw NOT_FAST;
  }
}

const NOT_FAST = new TypeError('a Json can only be written by taskhold');

/** Writes a value as JSON. Beside what `JSON.stringify` writes: {@link Json}, and a `bigint` as a whole number. */
export function write(value: unknown): string {
  if (value instanceof Json) return value.text;
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    // A bigint, a Json, or what cannot be written at all: the slow writer knows which.
    if (!(error instanceof TypeError)) throw error;
    text = writeSlowly(value, '', []);
  }
  if (text === undefined) throw new TypeError(`${typeof value} is no JSON value`);
  return text;
}

/** The same with null or undefined for a NULL. */
export function writeOptional(value: unknown): string | null {
  return value === undefined || value === null ? null : write(value);
}

/** Options as an object; null for none at all. */
export function options(given: object | undefined): string | null {
  if (given === undefined || given === null) return null;
  for (const _ in given) return write(given);
  return given instanceof Json ? given.text : null;
}

function writeSlowly(value: unknown, key: string, ancestors: object[]): string | undefined {
  if (value instanceof Json) {
    try {
      JSON.parse(value.text);
    } catch (cause) {
      throw new InvalidArgumentError('a Json holds malformed JSON', { reason: 'invalid_json' }, { cause });
    }
    return value.text;
  }
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const given = value as { toJSON?: unknown };
  if (typeof given.toJSON === 'function') {
    return writeSlowly((given.toJSON as (key: string) => unknown).call(value, key), key, ancestors);
  }
  if (ancestors.includes(value)) throw new TypeError('a value that holds itself is no JSON value');
  const inside = [...ancestors, value];
  if (Array.isArray(value)) {
    return `[${value.map((element, at) => writeSlowly(element, String(at), inside) ?? 'null').join(',')}]`;
  }
  if (value instanceof Number || value instanceof String || value instanceof Boolean) return JSON.stringify(value);
  const members: string[] = [];
  for (const [name, member] of Object.entries(value)) {
    const written = writeSlowly(member, name, inside);
    if (written !== undefined) members.push(`${JSON.stringify(name)}:${written}`);
  }
  return `{${members.join(',')}}`;
}

/** A string for C. What C would cut or cannot hold is refused. */
export function text(value: string): string {
  if (typeof value !== 'string') throw new TypeError(`a string is expected, not ${describe(value)}`);
  if (value.includes('\0')) {
    throw new InvalidArgumentError('a string has a NUL character', { reason: 'embedded_nul' });
  }
  if (!value.isWellFormed()) {
    throw new InvalidArgumentError('a string has a lone surrogate', { reason: 'lone_surrogate' });
  }
  return value;
}

/** The same, with null or undefined for NULL. */
export function optionalText(value: string | null | undefined): string | null {
  return value === undefined || value === null ? null : text(value);
}

/** A whole number for a C type; one that the type cannot hold would be cut without a word. */
export function whole(value: number | bigint, name: string, lowest: bigint, highest: bigint): bigint {
  if (typeof value !== 'bigint' && typeof value !== 'number') {
    throw new TypeError(`${name} is a number, not ${describe(value)}`);
  }
  if (typeof value === 'number' && !Number.isInteger(value)) {
    throw new InvalidArgumentError('a number is not whole', { reason: 'invalid_value', key: name });
  }
  const exact = BigInt(value);
  if (exact < lowest || exact > highest) {
    const bound = exact < lowest ? lowest : highest;
    const limit = bound <= BigInt(Number.MAX_SAFE_INTEGER) && bound >= BigInt(Number.MIN_SAFE_INTEGER);
    const details = { reason: 'invalid_value', key: name, limit: limit ? Number(bound) : bound };
    throw new InvalidArgumentError('an integer is out of range', details);
  }
  return exact;
}

/** An integer for an `int32_t`. */
export const int32 = (value: number, name: string): number => Number(whole(value, name, -(2n ** 31n), 2n ** 31n - 1n));
/** An integer for a `uint32_t`. */
export const uint32 = (value: number, name: string): number => Number(whole(value, name, 0n, 2n ** 32n - 1n));
/** An integer for an `int64_t`. */
export const int64 = (value: number | bigint, name: string): bigint => whole(value, name, -(2n ** 63n), 2n ** 63n - 1n);
/** An integer for a `uint64_t`. */
export const uint64 = (value: number | bigint, name: string): bigint => whole(value, name, 0n, 2n ** 64n - 1n);

function describe(value: unknown): string {
  return value === null ? 'null' : typeof value;
}
