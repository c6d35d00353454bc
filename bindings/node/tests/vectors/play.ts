/** Plays a case in one of three ways: raw C calls, or the package's methods that give texts or objects. */

import assert from 'node:assert/strict';
import * as taskhold from 'taskhold';
import { Inexpressible, kindOf, kindOfObject, LIBRARY, METHODS, members, SYSTEMS } from './api.js';
import type { Case, Step } from './files.js';
import { at, differences, looksAtText } from './matching.js';
import { call, type Outcome, readable } from './raw.js';
import { dumps, expand, isObject, type Value, type Values } from './values.js';

export const WAYS = ['raw', 'text', 'object'] as const;
export type Way = (typeof WAYS)[number];

/** Functions that were reached through the package's methods, over all cases that were played. */
export const reached = new Set<string>();

interface Closable {
  readonly _token: bigint;
  close(): void;
}

/** A handle that was opened raw. */
class Token implements Closable {
  constructor(
    private readonly kind: string,
    readonly _token: bigint,
  ) {}

  close(): void {
    call(`${this.kind}_close`, this._token, {}, null);
  }
}

/** Plays a case on the store; an error says which step differed and how. */
export async function play(one: Case, way: Way, url: string, options: string | null): Promise<void> {
  const player = new Player(way, url, options);
  try {
    await player.play(one);
  } finally {
    for (const handle of player.opened) handle.close();
  }
}

class Player {
  readonly opened: Closable[] = [];
  readonly #handles = new Map<string, Closable>();
  readonly #variables: Values;

  constructor(
    private readonly way: Way,
    url: string,
    options: string | null,
  ) {
    const backend = (url.split(':')[0] as string).replace('postgresql', 'postgres');
    this.#variables = { url, options, backend, n: 1 };
  }

  async play(one: Case): Promise<void> {
    const rest = { expect: {}, save: {}, times: 1 };
    const store = { url: '${url}', options: '${options}', clock: 'clock' };
    const first: Step[] = [
      { call: 'clock_open_manual', on: null, args: { epoch_ms: one.epochMs }, as: 'clock', ...rest },
      { call: 'store_open', on: null, args: store, as: 'store', ...rest },
    ];
    for (const [number, step] of [...first, ...one.steps].entries()) {
      for (let n = 1; n <= step.times; n += 1) {
        this.#variables['n'] = n;
        try {
          await this.#step(step);
        } catch (error) {
          throw new Error(`${one.name}: step ${number - 1} (${step.call}): ${(error as Error).message}`, {
            cause: error,
          });
        }
      }
      this.#variables['n'] = 1;
    }
  }

  /** Makes one call and compares. */
  async #step(step: Step): Promise<void> {
    const args = expand(step.args, this.#variables) as Values;
    const outcome = await this.#call(step, args);
    if (step.as !== null && outcome.status === 'ok') {
      this.#handles.get(step.as)?.close();
      this.#handles.set(step.as, outcome.opened as Closable);
      this.opened.push(outcome.opened as Closable);
    }
    const expect = expand(step.expect, this.#variables) as Values;
    const wanted = expect['status'] ?? 'ok';
    assert.equal(outcome.status, wanted, `should be ${wanted}, is ${outcome.status}: ${outcome.text}`);
    if (wanted !== 'ok' && !step.call.endsWith('_close')) {
      const error = outcome.value as Values;
      for (const name of ['reason', 'message']) assert.ok(error[name], `the error has no ${name}`);
      for (const name of ['reason', 'key', 'limit']) {
        if (name in expect) assert.equal(String(error[name]), String(expect[name]), name);
      }
    }
    if ('revision' in expect) assert.equal(outcome.revision, BigInt(expect['revision'] as number), 'revision');
    if ('out' in expect) {
      const found = differences(expect['out'] as Values, outcome.text, outcome.value);
      assert.equal(found.length, 0, found.join('; '));
    }
    for (const [name, pointer] of Object.entries(step.save)) {
      this.#variables[name] = pointer === '' ? outcome.text : at(pointer, outcome.value);
    }
  }

  /** Makes the call in the way of this player, or raw where the methods cannot say it. */
  async #call(step: Step, args: Values): Promise<Outcome> {
    if (this.way !== 'raw') {
      try {
        return await this.#method(step, args);
      } catch (error) {
        if (!(error instanceof Inexpressible)) throw error;
      }
    }
    const receiver = step.on === null ? null : (this.#handles.get(step.on) as Closable)._token;
    // The other handle of the call, if it has one.
    const other = args['clock'] ?? args['to'];
    const token = typeof other === 'string' ? (this.#handles.get(other) as Closable)._token : null;
    const outcome = call(step.call, receiver, args, token);
    if (step.as !== null && outcome.status === 'ok') {
      assert.equal(this.way, 'raw', 'what the package cannot open is refused');
      const kind = step.call.endsWith('_open_events') ? 'events' : kindOf(step.call);
      outcome.opened = new Token(kind, outcome.opened as bigint);
    }
    return outcome;
  }

  /** Calls the package. */
  async #method(step: Step, args: Values): Promise<Outcome> {
    try {
      const result = await this.#result(step, args);
      reached.add(step.call);
      return outcomeOf(step, result);
    } catch (error) {
      if (!(error instanceof taskhold.TaskholdError)) throw error;
      reached.add(step.call);
      const { status, reason, message, key, limit } = error;
      const found = Object.entries({ status, reason, message, key, limit }).filter(
        ([, member]) => member !== undefined,
      );
      const value = Object.fromEntries(found) as Values;
      return { status, text: dumps(value), value };
    }
  }

  /** What the package's function gives. */
  async #result(step: Step, args: Values): Promise<unknown> {
    const library = LIBRARY[step.call];
    if (library !== undefined) return library(args);
    if (step.call === 'clock_open_manual') return new taskhold.ManualClock(args['epoch_ms'] as number | bigint);
    if (step.call === 'store_open') {
      const url = args['url'] ?? null;
      const clock = typeof args['clock'] === 'string' ? this.#handles.get(args['clock']) : null;
      if (!(clock === null || clock instanceof taskhold.ManualClock)) throw new Inexpressible();
      if (url instanceof Uint8Array) throw new Inexpressible();
      return taskhold.Store.open(url as string | null, { ...members(args['options'], ['clock']), clock });
    }
    const receiver = step.on === null ? null : this.#handles.get(step.on);
    const opens = SYSTEMS[step.call];
    if (opens !== undefined) {
      if (!(receiver === null || receiver instanceof taskhold.Store)) throw new Inexpressible();
      return opens(receiver, members(args['options'], []));
    }
    const method = METHODS[step.call];
    // The descriptor of a queue: an event loop has no use for it that the package does not make.
    if (method === undefined) throw new Inexpressible();
    if (step.call === 'store_copy') {
      const to = this.#handles.get(args['to'] as string);
      // There are no options yet, so that the method takes none.
      if (!(to instanceof taskhold.Store) || args['options'] !== undefined) throw new Inexpressible();
      args = { ...args, to: to as unknown as Value };
    }
    const [name, ...given] = method(args);
    if (kindOfObject(receiver) !== kindOf(step.call)) throw new Inexpressible();
    const methods = receiver as unknown as Record<string, (...args: unknown[]) => unknown>;
    const expected = step.expect['out'];
    // An object has lost the digits that a number does not hold.
    const needsText = Object.values(step.save).includes('') || looksAtText(expected) || hasLargeNumber(expected);
    const twin = `${name}Json` in methods && (this.way === 'text' || needsText) ? `${name}Json` : name;
    return (methods[twin] as (...args: unknown[]) => unknown).call(receiver, ...given);
  }
}

function hasLargeNumber(value: Value | undefined): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).some(hasLargeNumber);
  return typeof value === 'bigint';
}

/** A result of the package as the outputs of the C function. */
function outcomeOf(step: Step, result: unknown): Outcome {
  if (step.as !== null) return { status: 'ok', text: null, value: null, opened: result };
  const { call: name } = step;
  if (name === 'state_provider_save_task' || name === 'state_provider_wait_task') {
    return { status: 'ok', text: null, value: null, revision: BigInt(result as number) };
  }
  let value = result as Value | undefined;
  let revision = name === 'state_provider_get_task' ? 0n : undefined;
  if ((name === 'state_provider_get_task' || name === 'manager_render_task') && isObject(value)) {
    revision = BigInt(value['revision'] as number);
    value = value['value'];
  }
  const more = revision === undefined ? {} : { revision };
  if (value === undefined || value === null) return { status: 'ok', text: null, value: null, ...more };
  if (typeof value === 'boolean') value = Number(value);
  if (typeof value !== 'string') return { status: 'ok', text: dumps(value), value, ...more };
  return {
    status: 'ok',
    text: value,
    value: name === 'version' || name === 'status_name' ? value : readable(value),
    ...more,
  };
}
