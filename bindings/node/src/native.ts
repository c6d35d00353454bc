/**
 * The C library: the table of its functions, finding, loading and checking it, and making a call.
 *
 * Nothing here knows JSON. A call passes texts and numbers, copies the text that the library gives out and frees it.
 * Calls are synchronous, so that one set of cells for their outputs serves all calls of a thread.
 */

import { existsSync } from 'node:fs';
import path from 'node:path';
import * as koffi from 'koffi';

/** The version of the library's interface that this package is written for. */
export const ABI_VERSION = 1;

/** How long to wait: without end. */
export const WAIT_FOREVER = 0xffff_ffff;

/** What a function takes in. */
export type In = 'handle' | 'text' | 'int32_t' | 'uint32_t' | 'int64_t' | 'uint64_t';

/** What a function gives out: a text, a handle, an `int32_t` or a `uint64_t`. */
export type Out = 'text' | 'handle' | 'number' | 'revision';

/** The parameters of a function that returns a status; a last `out_error` is there unless it gives nothing. */
export interface Signature {
  readonly takes: readonly In[];
  readonly gives: readonly Out[];
  /** Closes have no `out_error`. */
  readonly closes?: true;
}

const of = (takes: string, gives = ''): Signature => ({
  takes: (takes === '' ? [] : takes.split(' ')) as In[],
  gives: (gives === '' ? [] : gives.split(' ')) as Out[],
});
const CLOSE: Signature = { takes: ['handle'], gives: [], closes: true };
const OPEN = of('handle text', 'handle');
const ASK = of('handle', 'text');
const OF_ONE = of('handle text', 'text');
const OF_TWO = of('handle text text', 'text');
const OF_THREE = of('handle text text text', 'text');
const OF_FOUR = of('handle text text text text', 'text');
const NUMBER_OF_ONE = of('handle text', 'number');
const OPEN_EVENTS = of('handle uint32_t', 'handle');

/** The functions with a status, without `taskhold_`, as include/taskhold.h declares them. A test compares the two. */
export const SIGNATURES = {
  describe: of('', 'text'),
  json_get: of('text text', 'text'),
  clock_open_manual: of('int64_t', 'handle'),
  clock_advance: of('handle int64_t'),
  clock_step_wall: of('handle int64_t'),
  clock_close: CLOSE,
  store_open: of('text text handle', 'handle'),
  store_stats: ASK,
  store_check: ASK,
  store_copy: of('handle handle text', 'text'),
  store_close: CLOSE,
  manager_open: OPEN,
  manager_options: ASK,
  manager_close: CLOSE,
  manager_create_task: OF_ONE,
  manager_find_task: OF_ONE,
  manager_mark_task_working: OF_THREE,
  manager_request_task_input: OF_FOUR,
  manager_complete_task: OF_FOUR,
  manager_fail_task: OF_FOUR,
  manager_cancel_task: OF_THREE,
  manager_take_task_input_responses: OF_TWO,
  manager_is_task_cancelation_requested: NUMBER_OF_ONE,
  manager_wait_task: of('handle text uint64_t uint32_t', 'text'),
  manager_list_tasks: OF_ONE,
  manager_claim_task: of('handle text uint32_t', 'text'),
  manager_renew_leases: OF_ONE,
  manager_release_task: OF_TWO,
  manager_find_authorized_task: OF_THREE,
  manager_update_task: of('handle text text text text text', 'text'),
  manager_request_task_cancelation: of('handle text text text'),
  manager_render_task: of('handle text text text int32_t text', 'text revision'),
  manager_handle_request: OF_FOUR,
  manager_publish_task_changed: of('handle text'),
  manager_open_events: OPEN_EVENTS,
  events_next: of('handle uint32_t', 'text'),
  events_fd: of('handle', 'number'),
  events_close: CLOSE,
  session_store_open: OPEN,
  session_store_options: ASK,
  session_store_close: CLOSE,
  session_store_create: OF_TWO,
  session_store_find_by_session_id: OF_ONE,
  session_store_find_authorized_session: OF_THREE,
  session_store_list_sessions: OF_ONE,
  session_store_replace: of('handle text text', 'number'),
  session_store_delete_by_session_id: of('handle text'),
  session_store_pin: NUMBER_OF_ONE,
  session_store_unpin: of('handle text'),
  session_store_take_expired: ASK,
  state_provider_open: OPEN,
  state_provider_options: ASK,
  state_provider_close: CLOSE,
  state_provider_save_task: of('handle text text text', 'revision'),
  state_provider_get_task: of('handle text text text', 'text revision'),
  state_provider_delete_task: of('handle text text'),
  state_provider_list_tasks: OF_TWO,
  state_provider_is_task_active: NUMBER_OF_ONE,
  state_provider_is_task_finalized: NUMBER_OF_ONE,
  state_provider_task_liveness: NUMBER_OF_ONE,
  state_provider_open_events: OPEN_EVENTS,
  state_provider_read_events: OF_TWO,
  state_provider_wait_task: of('handle text uint64_t uint32_t', 'revision'),
  state_provider_set_push_config: of('handle text text text text'),
  state_provider_list_push_configs: OF_THREE,
  state_provider_delete_push_config: of('handle text text text'),
} satisfies Record<string, Signature>;

/** The name of a function with a status. */
export type Name = keyof typeof SIGNATURES;

/**
 * Callbacks stay outside: a thread of another language would have to enter JavaScript. Event queues give the same.
 */
export const NOT_BOUND: readonly string[] = ['taskhold_manager_subscribe', 'taskhold_subscription_close'];

/** An argument of a call: a handle is a bigint, a text a string, bytes with a final NUL, or null. */
export type Argument = string | Uint8Array | number | bigint | null;

/** What came of a call. */
export interface Answer {
  readonly status: number;
  readonly text: string | null;
  /** The handle, number or revision that was given out. */
  readonly value: bigint;
  readonly error: string | null;
}

/** The library that is used. */
export interface Library {
  readonly path: string;
  readonly version: string;
  /** The name of a status. */
  statusName(status: number): string;
  /** Makes a call. */
  invoke(name: Name, args: readonly Argument[]): Answer;
}

/** What the file of the library is called on a platform. */
export function fileName(platform: NodeJS.Platform): string {
  if (platform === 'win32') return 'taskhold.dll';
  return platform === 'darwin' ? 'libtaskhold.dylib' : 'libtaskhold.so';
}

/** The folder for this platform: as Node names both, with `-musl` where the C library is that. */
export function platformFolder(): string {
  const report = process.platform === 'linux' ? process.report?.getReport() : undefined;
  const header = (report as { header?: { glibcVersionRuntime?: string } } | undefined)?.header;
  const musl = process.platform === 'linux' && header !== undefined && header.glibcVersionRuntime === undefined;
  return `${process.platform}-${process.arch}${musl ? '-musl' : ''}`;
}

/** Where the library is: named in TASKHOLD_LIBRARY, or in the package's folder `natives`. */
export function find(
  environment: NodeJS.ProcessEnv = process.env,
  natives: string = path.join(__dirname, '..', 'natives'),
): string {
  const chosen = environment['TASKHOLD_LIBRARY'];
  if (chosen !== undefined && chosen !== '') return path.resolve(chosen);
  const packaged = path.join(natives, platformFolder(), fileName(process.platform));
  if (existsSync(packaged)) return packaged;
  throw new Error(
    `taskhold: this package has no native library for ${platformFolder()}; ${available(natives)}. ` +
      'Build one with `make lib` in the repository, and name it in the environment variable TASKHOLD_LIBRARY',
  );
}

/** Which libraries the package has, for people. */
function available(natives: string): string {
  // Only when something is missing: nobody else pays for it.
  const { readdirSync } = require('node:fs') as typeof import('node:fs');
  const there = existsSync(natives) ? readdirSync(natives).sort() : [];
  return there.length === 0 ? 'it has none' : `it has those for ${there.join(', ')}`;
}

const CELLS = 4;
const CELL_BYTES = 8;

/** Loads and checks a library. */
export function load(file: string): Library {
  let library: ReturnType<typeof koffi.load>;
  try {
    library = koffi.load(file);
  } catch (error) {
    throw new Error(`taskhold: cannot load ${file}: ${(error as Error).message}`, { cause: error });
  }
  const bound = (name: string, result: string, parameters: string[]): ReturnType<typeof library.func> => {
    try {
      return library.func(`taskhold_${name}`, result, parameters);
    } catch (error) {
      const message = `taskhold: ${file} is not the library that this package needs: ${(error as Error).message}`;
      throw new Error(message, { cause: error });
    }
  };
  const abi = bound('abi_version', 'uint32_t', [])() as number;
  if (abi !== ABI_VERSION) {
    throw new Error(`taskhold: ${file} has ABI version ${abi}, this package needs ${ABI_VERSION}`);
  }
  const free = bound('string_free', 'void', ['void *']);
  const statusName = bound('status_name', 'str', ['int32_t']);
  const version = bound('version', 'str', [])() as string;

  // The memory of an ArrayBuffer does not move; `cells` keeps it.
  const cells = new BigUint64Array(CELLS);
  const signed = new Int32Array(cells.buffer);
  const start = koffi.address(cells);
  const address = (at: number): bigint => start + BigInt(at * CELL_BYTES);
  const decode = koffi.decode.string;

  const take = (at: number): string | null => {
    const pointer = cells[at] as bigint;
    if (pointer === 0n) return null;
    const text = decode(pointer);
    free(pointer);
    return text;
  };

  type Call = (args: readonly Argument[]) => Answer;
  const calls = Object.fromEntries(
    Object.entries(SIGNATURES).map(([name, signature]: [string, Signature]): [string, Call] => {
      const { takes, gives } = signature;
      const outs = gives.length + (signature.closes ? 0 : 1);
      const parameters = [
        ...takes.map(kind => (kind === 'handle' ? 'void *' : kind === 'text' ? 'str' : kind)),
        ...Array<string>(outs).fill('void *'),
      ];
      const native = bound(name, 'int32_t', parameters);
      const pointers = Array.from({ length: outs }, (_, at) => address(at));
      const text = gives.indexOf('text');
      const valued = gives.findIndex(kind => kind !== 'text');
      const isNumber = gives[valued] === 'number';
      const errorAt = signature.closes ? -1 : outs - 1;
      const call: Call = args => {
        const status = native(...args, ...pointers) as number;
        if (status !== 0) {
          return { status, text: null, value: 0n, error: errorAt < 0 ? null : take(errorAt) };
        }
        const number = isNumber ? BigInt(signed[valued * 2] as number) : valued < 0 ? 0n : (cells[valued] as bigint);
        return { status, text: text < 0 ? null : take(text), value: number, error: null };
      };
      return [name, call];
    }),
  ) as Record<Name, Call>;

  return {
    path: file,
    version,
    statusName: status => statusName(status) as string,
    invoke: (name, args) => calls[name](args),
  };
}

/** The library of this process. */
export const library: Library = load(find());
