/** Compares an output with what a step expects. */

import { jsonGet } from 'taskhold';
import { isObject, type Value, type Values } from './values.js';

export const MATCHERS = ['null', 'exact', 'subset', 'bytes', 'text', 'absent', 'differs', 'contains'];
export const PLACEHOLDERS = ['$any', '$string', '$integer', '$timestamp', '$uuid4', '$session_id'];

const FORMS: Readonly<Record<string, RegExp>> = {
  $timestamp: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
  $uuid4: /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  $session_id: /^[!-~]{22,1024}$/,
};

/** Whether a matcher looks at the output's text; the others look at its value. */
export function looksAtText(matcher: Value | undefined): boolean {
  return isObject(matcher) && ['bytes', 'text', 'absent', 'differs', 'contains'].some(name => name in matcher);
}

/** Where the output is not as it should be: its text where there is one, and its value. */
export function differences(matcher: Values, text: string | null, value: Value): string[] {
  if ('null' in matcher) return text === null ? [] : [`should be NULL, is ${text}`];
  if (text === null) return ['is NULL'];
  const found: string[] = [];
  if ('exact' in matcher) compare('', matcher['exact'] as Value, value, true, found);
  if ('subset' in matcher) compare('', matcher['subset'] as Value, value, false, found);
  if ('bytes' in matcher && text !== matcher['bytes']) found.push(`should be ${matcher['bytes']}, is ${text}`);
  for (const [pointer, wanted] of Object.entries((matcher['text'] ?? {}) as Values)) {
    const there = jsonGet(text, pointer);
    if (there !== wanted) found.push(`${pointer}: should be ${wanted}, is ${there}`);
  }
  for (const pointer of (matcher['absent'] ?? []) as string[]) {
    if (jsonGet(text, pointer) !== null) found.push(`${pointer}: should not be there`);
  }
  for (const [pointer, unwanted] of Object.entries((matcher['differs'] ?? {}) as Values)) {
    const there = jsonGet(text, pointer);
    if (there === null || there === unwanted) found.push(`${pointer}: should be there and differ from ${unwanted}`);
  }
  for (const part of (matcher['contains'] ?? []) as string[]) {
    if (!text.includes(part)) found.push(`should contain ${part}`);
  }
  return found;
}

/** Both as JSON values; the order of members does not count. */
function compare(path: string, wanted: Value, actual: Value | undefined, exact: boolean, found: string[]): void {
  if (isObject(wanted) && isObject(actual)) {
    for (const key of Object.keys(actual)) {
      if (exact && !Object.hasOwn(wanted, key)) found.push(`${path}: should not have ${key}`);
    }
    for (const [key, member] of Object.entries(wanted)) {
      if (Object.hasOwn(actual, key)) compare(`${path}/${key}`, member, actual[key], exact, found);
      else found.push(`${path}/${key} is missing`);
    }
  } else if (Array.isArray(wanted) && Array.isArray(actual)) {
    if (wanted.length !== actual.length) found.push(`${path}: should have ${wanted.length}, has ${actual.length}`);
    for (const [at, one] of wanted.entries()) compare(`${path}/${at}`, one, actual[at], exact, found);
  } else if (typeof wanted === 'string' && wanted.startsWith('$')) {
    if (!standsFor(wanted, actual)) found.push(`${path}: should be ${wanted}, is ${String(actual)}`);
  } else if (!same(wanted, actual)) {
    found.push(`${path}: should be ${String(wanted)}, is ${String(actual)}`);
  }
}

/** A whole number may come as a number or as a bigint. */
function same(wanted: Value, actual: Value | undefined): boolean {
  if (isNumber(wanted) && isNumber(actual)) {
    return Number.isInteger(Number(actual)) && BigInt(wanted as number) === BigInt(actual as number);
  }
  return wanted === actual;
}

function isNumber(value: Value | undefined): boolean {
  return typeof value === 'number' || typeof value === 'bigint';
}

function standsFor(placeholder: string, actual: Value | undefined): boolean {
  if (placeholder === '$any') return actual !== undefined;
  if (placeholder === '$integer') return isNumber(actual) && Number.isInteger(Number(actual));
  if (typeof actual !== 'string' || actual.startsWith('\u0001number:')) return false;
  return placeholder === '$string' || (FORMS[placeholder] as RegExp).test(actual);
}

/** The value at an RFC 6901 pointer. */
export function at(pointer: string, value: Value): Value {
  let there: Value | undefined = value;
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    there = Array.isArray(there) ? there[Number(key)] : (there as Values)[key];
  }
  if (there === undefined) throw new Error(`nothing at ${pointer}`);
  return there;
}
