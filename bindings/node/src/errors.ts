/**
 * What calls fail with: a class for each status of the library, with the `reason`, and the `key` and `limit` where the
 * library names them. Messages never hold ids, keys or payloads.
 */

/** What an error has beside its message. */
export interface ErrorDetails {
  /** One of the reasons of docs/errors.md, such as `task_terminal`. */
  reason: string;
  /** The option, member or parameter at fault. */
  key?: string | undefined;
  /** The bound that was broken. */
  limit?: number | bigint | undefined;
  /** Of {@link TaskManager.handleRequest} when the storage failed: a JSON-RPC response that is ready to be sent. */
  response?: unknown;
}

/** The base of all errors of this package; itself only for a status that this version does not know. */
export class TaskholdError extends Error {
  /** The name of the library's status, such as `invalid_state`. */
  readonly status: string = 'unknown';
  /** One of the reasons of docs/errors.md, such as `task_terminal`. */
  readonly reason: string;
  /** The option, member or parameter at fault. */
  readonly key: string | undefined;
  /** The bound that was broken. */
  readonly limit: number | bigint | undefined;
  /** Of {@link TaskManager.handleRequest} when the storage failed: a JSON-RPC response that is ready to be sent. */
  readonly response: unknown;

  /**
   * @param message for people.
   * @param details the reason, and what is at fault.
   * @param options `cause`.
   */
  constructor(message: string, details: ErrorDetails, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.reason = details.reason;
    this.key = details.key;
    this.limit = details.limit;
    this.response = details.response;
  }
}

/** An argument is malformed; the call cannot succeed as it stands. */
export class InvalidArgumentError extends TaskholdError {
  override readonly status: string = 'invalid_argument';
}

/** The object belongs to another process, or is of another kind. */
export class InvalidHandleError extends TaskholdError {
  override readonly status: string = 'invalid_handle';
}

/** The task is absent, expired, or not visible to the caller. */
export class NotFoundError extends TaskholdError {
  override readonly status: string = 'not_found';
}

/** A rule of the state machine refuses the call. */
export class InvalidStateError extends TaskholdError {
  override readonly status: string = 'invalid_state';
}

/** The store is full; a record that has not expired is never evicted. */
export class CapacityExhaustedError extends TaskholdError {
  override readonly status: string = 'capacity_exhausted';
}

/** An argument is larger or deeper than a limit. */
export class LimitExceededError extends TaskholdError {
  override readonly status: string = 'limit_exceeded';
}

/** An expected revision did not match, a lease is lost, or an id is taken. */
export class ConflictError extends TaskholdError {
  override readonly status: string = 'conflict';
}

/** Nothing happened within the time given. */
export class TimeoutError extends TaskholdError {
  override readonly status: string = 'timeout';
}

/** The object is closed: it was when the call came (reason `closed`), or while it waited. */
export class ClosedError extends InvalidHandleError {
  override readonly status: string = this.reason === 'closed' ? 'invalid_handle' : 'closed';
}

/** The storage failed; a retry may help. */
export class UnavailableError extends TaskholdError {
  override readonly status: string = 'unavailable';
}

/** A stored row cannot be read. */
export class CorruptError extends TaskholdError {
  override readonly status: string = 'corrupt';
}

/** This build or platform cannot do it. */
export class UnsupportedError extends TaskholdError {
  override readonly status: string = 'unsupported';
}

/** A defect of the library; state is as before the call. */
export class InternalError extends TaskholdError {
  override readonly status: string = 'internal';
}

const BY_CODE: Readonly<Record<number, typeof TaskholdError>> = {
  1: InvalidArgumentError,
  2: InvalidHandleError,
  3: NotFoundError,
  4: InvalidStateError,
  5: CapacityExhaustedError,
  6: LimitExceededError,
  7: ConflictError,
  8: TimeoutError,
  9: ClosedError,
  10: UnavailableError,
  11: CorruptError,
  12: UnsupportedError,
  99: InternalError,
};

/** What a wait that is made of several calls ends with, as a single call would. */
export function closedWhileWaiting(): ClosedError {
  return new ClosedError('the handle was closed while the call waited', { reason: 'closed_while_waiting' });
}

/** What a wait ends with that has waited long enough. */
export function nothingHappened(): TimeoutError {
  return new TimeoutError('nothing happened within the time given', { reason: 'timeout' });
}

/** The error for a status and the library's error object. A newer library's status is the base class. */
export function fromNative(code: number, text: string | null): TaskholdError {
  const error = text === null ? {} : (JSON.parse(text) as Partial<ErrorDetails> & { message?: string });
  const reason = error.reason ?? 'unknown';
  const kind = reason === 'closed' ? ClosedError : (BY_CODE[code] ?? TaskholdError);
  return new kind(error.message ?? `status ${code}`, {
    reason,
    key: error.key,
    limit: error.limit === undefined ? undefined : exactLimit(text, error.limit),
    response: error.response,
  });
}

/** A limit whose digits a number cannot hold, as a bigint. */
function exactLimit(text: string | null, limit: number | bigint): number | bigint {
  if (Number.isSafeInteger(limit)) return limit;
  const digits = /"limit":(-?\d+)/.exec(text ?? '')?.[1];
  return digits === undefined ? limit : BigInt(digits);
}
