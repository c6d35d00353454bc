/** Stores, where records live, and the manual clock that tests give them. */

import { fileURLToPath } from 'node:url';
import { call, checked, Handle } from './handle.js';
import { int64, options, text } from './json.js';
import { library, type Name } from './native.js';
import { Threads } from './threads.js';
import type { StoreCheck, StoreCopied, StoreStats } from './types.js';

/** Those who wait, and look again when a manual clock is moved. */
export interface Wakeable {
  wakeAll(): void;
}

/**
 * A clock that stands still until it is moved. For tests: give it to a store.
 *
 * ```ts
 * const clock = new ManualClock(1_764_498_600_000);
 * const tasks = await TaskManager.open(await Store.open('memory:', { clock }), { taskTimeToLiveMs: 1000 });
 * clock.advance(1000); // whatever was there has expired
 * ```
 */
export class ManualClock extends Handle {
  readonly #waits = new Set<WeakRef<Wakeable>>();

  /**
   * Opens a clock.
   *
   * Source: `taskhold_clock_open_manual`.
   *
   * @param epochMs its wall time in milliseconds since 1970-01-01T00:00:00Z.
   * @throws {InvalidArgumentError} the time is out of the years 0001 to 9999.
   */
  constructor(epochMs: number | bigint = 0) {
    super(call('clock_open_manual', int64(epochMs, 'epochMs')).value, 'clock_close', null);
  }

  /**
   * Moves it forward, wall time and monotonic time alike, and wakes everyone who waits in its stores.
   *
   * Source: `taskhold_clock_advance`.
   *
   * @param ms by how many milliseconds; 0 or more.
   * @throws {InvalidArgumentError} `ms` is negative, or leads out of the years 0001 to 9999.
   */
  advance(ms: number | bigint): void {
    call('clock_advance', this._token, int64(ms, 'ms'));
    for (const place of this.#waits) {
      const waits = place.deref();
      if (waits === undefined) this.#waits.delete(place);
      else waits.wakeAll();
    }
  }

  /**
   * Steps its wall time, as an operator or a time service does.
   *
   * Source: `taskhold_clock_step_wall`.
   *
   * @param ms by how many milliseconds; may be negative.
   * @throws {InvalidArgumentError} `ms` leads out of the years 0001 to 9999.
   */
  stepWall(ms: number | bigint): void {
    call('clock_step_wall', this._token, int64(ms, 'ms'));
  }

  /** @internal */
  _tell(waits: Wakeable): void {
    this.#waits.add(new WeakRef(waits));
  }
}

/** Options of {@link Store.open}: those of the backend in its URL, and the clock. */
export interface StoreOptions {
  /** The store's time, for tests; the system's unless given. */
  clock?: ManualClock | null;
  /** SQLite: "full" (default: a commit is on the disk) or "normal" (it survives the process, not a loss of power). */
  durability?: 'full' | 'normal' | null;
  /** SQLite: longest wait for other processes, 5000. */
  busyTimeoutMs?: number | null;
  /** SQLite: false. */
  allowNetworkFileSystem?: boolean | null;
  /** PostgreSQL: most connections for calls, 8. */
  poolSize?: number | null;
  /** PostgreSQL: longest wait for one of them, 5000. */
  acquireTimeoutMs?: number | null;
  /** PostgreSQL: the longest that a statement may take, 5000. */
  statementTimeoutMs?: number | null;
  /** PostgreSQL: where the tables are, "public". */
  schema?: string | null;
  /** PostgreSQL: false; true behind a pooler in transaction mode. */
  poolerSafe?: boolean | null;
  /** PostgreSQL: how often to look for what others changed where nothing tells of it, 100. */
  eventPollMs?: number | null;
}

/**
 * Where records live. Managers, session stores and state providers over one store share it; those with the same `name`
 * share their records too. Closing a store leaves alone what was opened over it.
 *
 * Calls on memory are made in place, within microseconds; those on a durable store in up to four threads of its own.
 *
 * ```ts
 * await using store = await Store.open('sqlite:agents.db');
 * const tasks = await TaskManager.open(store);
 * ```
 */
export class Store extends Handle {
  /** @internal */
  readonly _clock: ManualClock | null;

  private constructor(token: bigint, threads: Threads | null, clock: ManualClock | null) {
    super(token, 'store_close', threads);
    this._clock = clock;
  }

  /**
   * Opens a store.
   *
   * Source: `taskhold_store_open`.
   *
   * @param url `memory:` (a new store in this process's memory), `sqlite:PATH`, or a `file:` URL of an SQLite file.
   * @param given the clock, and options of the backend.
   * @throws {InvalidArgumentError} the URL is of no known form, or an option is malformed or unknown.
   * @throws {UnsupportedError} this build has no such backend, or the file is of a newer version.
   * @throws {UnavailableError} the storage failed.
   * @throws {CorruptError} the file is damaged.
   */
  static async open(url: string | URL | null = null, given: StoreOptions = {}): Promise<Store> {
    const { clock = null, ...rest } = given;
    const where = url instanceof URL ? `sqlite:${fileURLToPath(url)}` : url;
    const args = [where === null ? null : text(where), options(rest), clock?._token ?? null];
    if (where === null || where.startsWith('memory:')) {
      return new Store(call('store_open', ...args).value, null, clock);
    }
    const threads = new Threads();
    threads.hold();
    try {
      const answer = checked(await threads.call({ name: 'store_open', args }));
      return new Store(answer.value, threads, clock);
    } finally {
      threads.release();
    }
  }

  /**
   * Tells how the store is filled, for operators. It may visit every record: not for a hot path.
   *
   * Source: `taskhold_store_stats`.
   *
   * @throws {UnavailableError} the storage failed.
   */
  async stats(): Promise<StoreStats> {
    return JSON.parse(await this.statsJson()) as StoreStats;
  }

  /** As {@link stats}; gives the text. */
  statsJson(): Promise<string> {
    return this._text('store_stats');
  }

  /**
   * Looks through the store, for operators: whether it is sound, and which records cannot be read. It reads every record
   * and repairs nothing; what is wrong with the store is in the result.
   *
   * Source: `taskhold_store_check`.
   *
   * @throws {UnavailableError} the storage failed.
   */
  async check(): Promise<StoreCheck> {
    return JSON.parse(await this.checkJson()) as StoreCheck;
  }

  /** As {@link check}; gives the text. */
  checkJson(): Promise<string> {
    return this._text('store_check');
  }

  /**
   * Copies all records to an empty store, which may be of another backend, and compares the two. Ids, times, revisions,
   * leases, operation ids and payloads stay the same; pins are left behind. Nothing else may write to either store
   * meanwhile. After a failure the copy is to be thrown away.
   *
   * Source: `taskhold_store_copy`.
   *
   * @param to the empty store.
   * @throws {InvalidArgumentError} `to` is this store itself.
   * @throws {InvalidStateError} `store_not_empty`.
   * @throws {ConflictError} `store_changed`: somebody wrote meanwhile.
   * @throws {CorruptError} a record cannot be read; {@link check} names it.
   * @throws {UnavailableError} the storage failed.
   */
  async copyTo(to: Store): Promise<StoreCopied> {
    return JSON.parse(await this.copyToJson(to)) as StoreCopied;
  }

  /** As {@link copyTo}; gives the text. */
  async copyToJson(to: Store): Promise<string> {
    const job = { name: 'store_copy', args: [this._token, to._token, null] } as const;
    // The threads of whichever of the two may wait for a disk.
    const threads = this._threads ?? to._threads;
    return checked(threads === null ? library.invoke(job.name, job.args) : await threads.call(job)).text as string;
  }
}

/** A store, its URL, or null for a private one in memory. */
export type StoreLike = Store | string | URL | null | undefined;

/** What was opened over a store. */
export interface Opened {
  readonly token: bigint;
  readonly threads: Threads | null;
  readonly clock: ManualClock | null;
}

/** Opens something over a store; a store that is named by its URL is kept by what is made. */
export async function openOver<T>(
  store: StoreLike,
  name: Name,
  given: object,
  make: (opened: Opened) => T,
): Promise<T> {
  const own = typeof store === 'string' || store instanceof URL ? await Store.open(store) : undefined;
  const over = own ?? (store as Store | null | undefined) ?? null;
  const threads = over?._threads ?? null;
  const args = [over?._token ?? null, options(given)];
  try {
    const answer = checked(threads === null ? library.invoke(name, args) : await threads.call({ name, args }));
    return make({ token: answer.value, threads, clock: over?._clock ?? null });
  } finally {
    own?.close();
  }
}
