/** Reads include/taskhold.h: its functions and constants. */

import { readFileSync } from 'node:fs';
import path from 'node:path';

export const ROOT = path.resolve(__dirname, '../../..');

/** The text of the header, without comments. */
const TEXT = readFileSync(path.join(ROOT, 'include/taskhold.h'), 'utf8').replace(/\/\*[\s\S]*?\*\//g, '');

export interface Parameter {
  readonly type: string;
  readonly name: string;
}

export interface CFunction {
  readonly returns: string;
  readonly parameters: readonly Parameter[];
}

function parameter(text: string): Parameter {
  const callback = /^void \(\*(\w+)\)/.exec(text);
  if (callback) return { type: 'callback', name: callback[1] as string };
  const [, type, name] = /^(.*?)(\w+)$/.exec(text) as RegExpExecArray;
  return { type: (type as string).trim(), name: name as string };
}

/** A list of parameters at its commas, but for those inside parentheses. */
function parts(text: string): string[] {
  return text.split(/,(?![^()]*\))/).map(one => one.replace(/\s+/g, ' ').trim());
}

/** The functions by their names. */
export const FUNCTIONS: ReadonlyMap<string, CFunction> = new Map(
  [...TEXT.matchAll(/^(taskhold_status|uint32_t|const char \*|void) ?(taskhold_\w+)\(([\s\S]*?)\);/gm)].map(found => {
    const [, returns, name, list] = found as unknown as [string, string, string, string];
    const parameters = list.trim() === 'void' ? [] : parts(list).map(parameter);
    return [name, { returns, parameters }];
  }),
);

/** The constants by their names. */
export const CONSTANTS: ReadonlyMap<string, number> = new Map(
  [...TEXT.matchAll(/^#define TASKHOLD_(\w+) (\d+)$/gm)].map(found => [found[1] as string, Number(found[2])]),
);

const NO_STATUS = /^(RENDER|LIVENESS|VERSION|ABI)_/;

/** The statuses by their names. */
export const STATUSES: ReadonlyMap<string, number> = new Map(
  [...CONSTANTS].filter(([name]) => !NO_STATUS.test(name)).map(([name, value]) => [name.toLowerCase(), value]),
);
