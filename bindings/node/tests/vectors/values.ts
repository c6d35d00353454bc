/** Arguments and expected values out of JSON: variables (`${name}`) and generated texts (`{"$text": […]}`). */

import assert from 'node:assert/strict';

/** A JSON value whose whole numbers are bigints where a number would lose digits. */
export type Value = null | boolean | number | bigint | string | Uint8Array | Value[] | { [key: string]: Value };
export type Values = { [key: string]: Value };

export function isObject(value: Value | undefined): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);
}

/** Compact JSON text. */
export function dumps(value: Value): string {
  if (typeof value === 'bigint') return value.toString();
  if (Array.isArray(value)) return `[${value.map(dumps).join(',')}]`;
  if (isObject(value)) {
    return `{${Object.entries(value)
      .map(([key, member]) => `${JSON.stringify(key)}:${dumps(member)}`)
      .join(',')}}`;
  }
  return JSON.stringify(value);
}

const NUMBER = '-?\\d+(?:\\.\\d+)?(?:[eE][+-]?\\d+)?';
const TOKEN = new RegExp(`"[^"\\\\]*(?:\\\\.[^"\\\\]*)*"|${NUMBER}`, 'g');
const LOST = '\u0001number:';

/** JSON whose numbers keep their digits: one that a number does not hold exactly is a bigint, or else its text. */
export function parse(text: string): Value {
  const marked = text.replace(TOKEN, token =>
    token.startsWith('"') || keeps(token) ? token : JSON.stringify(LOST + token),
  );
  return JSON.parse(marked, (_key, value) => {
    if (typeof value !== 'string' || !value.startsWith(LOST)) return value;
    const digits = value.slice(LOST.length);
    return /^-?\d{1,25}$/.test(digits) ? BigInt(digits) : value;
  }) as Value;
}

function keeps(digits: string): boolean {
  return /^-?\d+$/.test(digits) && Number.isSafeInteger(Number(digits)) && digits !== '-0';
}

/** A value with its variables and generated texts put in; a text that is not UTF-8 becomes bytes. */
export function expand(value: Value, variables: Values): Value {
  if (typeof value === 'string') return expandString(value, variables);
  if (Array.isArray(value)) return value.map(element => expand(element, variables));
  if (!isObject(value)) return value;
  const keys = Object.keys(value);
  if (keys.length === 1 && keys[0] === '$text') {
    const joined = Buffer.concat((value['$text'] as Value[]).map(one => piece(one, variables)));
    const text = joined.toString();
    return Buffer.from(text).equals(joined) ? text : joined;
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [String(expandString(key, variables)), expand(member, variables)]),
  );
}

/** A string with its variables put in; when it is one variable and nothing else, the variable's value. */
function expandString(text: string, variables: Values): Value {
  const whole = /^\$\{([^{}]*)\}$/.exec(text);
  if (whole) return variable(whole[1] as string, variables);
  return text.replace(/\$\{([^}]*)\}/g, (_all, name: string) => {
    const value = variable(name, variables);
    return typeof value === 'string' ? value : dumps(value);
  });
}

function variable(name: string, variables: Values): Value {
  assert.ok(Object.hasOwn(variables, name), `no variable ${name}`);
  return variables[name] as Value;
}

function piece(given: Value, variables: Values): Buffer {
  if (typeof given === 'string') {
    const value = expandString(given, variables);
    return Buffer.from(typeof value === 'string' ? value : dumps(value));
  }
  assert.ok(isObject(given));
  if ('repeat' in given) return Buffer.from(String(given['repeat']).repeat(Number(given['times'])));
  assert.deepEqual(Object.keys(given), ['hex']);
  return Buffer.from(String(given['hex']), 'hex');
}
