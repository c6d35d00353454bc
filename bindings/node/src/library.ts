/** What the library is, and reading values out of JSON texts. */

import { call } from './handle.js';
import { int32, text } from './json.js';
import { ABI_VERSION, library } from './native.js';
import type { Description } from './types.js';

/** The version of the library's interface. Source: `taskhold_abi_version`. */
export function abiVersion(): number {
  return ABI_VERSION;
}

/** The version of the library, such as "0.1.0". Source: `taskhold_version`. */
export function version(): string {
  return library.version;
}

/** The name of a status: "ok", "invalid_argument", …; "unknown" for any other number. Source: `taskhold_status_name`. */
export function statusName(status: number): string {
  return library.statusName(int32(status, 'status'));
}

/** What the library is and can: version, backends, limits, defaults. Source: `taskhold_describe`. */
export function describe(): Description {
  return JSON.parse(describeJson()) as Description;
}

/** As {@link describe}; gives the text. */
export function describeJson(): string {
  return call('describe').text as string;
}

/**
 * Reads one value out of a JSON text, with its digits.
 *
 * Source: `taskhold_json_get`.
 *
 * @param json a JSON text, as the twins of the methods give it.
 * @param pointer an RFC 6901 pointer: `/task/taskId`.
 * @returns a string decoded, anything else as its text in `json`; null when it is not there.
 * @throws {InvalidArgumentError} the pointer or the text is malformed.
 */
export function jsonGet(json: string, pointer: string): string | null {
  return call('json_get', text(json), text(pointer)).text;
}
