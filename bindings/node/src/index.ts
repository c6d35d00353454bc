/**
 * taskhold keeps the state of MCP servers and A2A agents: tasks, sessions and A2A tasks, in memory or in SQLite, over one
 * native library.
 *
 * @packageDocumentation
 */

export {
  CapacityExhaustedError,
  ClosedError,
  ConflictError,
  CorruptError,
  type ErrorDetails,
  InternalError,
  InvalidArgumentError,
  InvalidHandleError,
  InvalidStateError,
  LimitExceededError,
  NotFoundError,
  TaskholdError,
  TimeoutError,
  UnavailableError,
  UnsupportedError,
} from './errors.js';
export { TaskEvents } from './events.js';
export { Handle } from './handle.js';
export type { Interruption } from './held.js';
export { Json } from './json.js';
export { abiVersion, describe, describeJson, jsonGet, statusName, version } from './library.js';
export { TaskManager } from './manager.js';
export type { JsonRpcResponse } from './protocol.js';
export { StateProvider } from './provider.js';
export { SessionStore } from './sessions.js';
export { ManualClock, Store, type StoreLike, type StoreOptions } from './store.js';
export type * from './types.js';
export { Liveness, Rendering } from './types.js';
export type { WaitOptions } from './waits.js';
export { type AskOptions, type ClaimWorkOptions, type Outcome, Parked, Work, WorkInterrupted } from './work.js';
export type { WorkerOptions, WorkHandler } from './worker.js';
