/**
 * The shapes of arguments and results. Results are plain objects; a newer library may add members to them. Members and
 * options have the names of the wire; all durations are milliseconds.
 */

import type { Json } from './json.js';

/** An object of JSON. */
export type JsonObject = { [member: string]: unknown };

/** Any JSON value, written as `JSON.stringify` does, or a {@link Json} that crosses byte for byte. */
export type Payload = Json | object | string | number | bigint | boolean | null;

/** A payload that is an object. */
export type ObjectPayload = Json | object;

/** The statuses of an MCP task. */
export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

/** A value and the revision that it shows, from one reading. */
export interface Revisioned<T> {
  value: T;
  revision: number;
}

/** What a task is rendered as; see {@link TaskManager.renderTask}. */
export const Rendering = {
  /** The flat `CreateTaskResult` (`resultType` "task"). */
  CREATE_RESULT: 1,
  /** The result of `tasks/get` (`resultType` "complete"). */
  GET_RESULT: 2,
  /** The whole `notifications/tasks` message. */
  NOTIFICATION: 3,
} as const;

/** One of the values of {@link Rendering}. */
export type Rendering = (typeof Rendering)[keyof typeof Rendering];

/** Where an A2A task stands; see {@link StateProvider.taskLiveness}. */
export const Liveness = {
  /** Unknown, deleted, or not retained any more. */
  ABSENT: 0,
  /** Not final. */
  ACTIVE: 1,
  /** Final, and still counting as active for the rest of its grace period. */
  GRACE: 2,
  /** Final, with its grace period over. */
  FINALIZED: 3,
} as const;

/** One of the values of {@link Liveness}. */
export type Liveness = (typeof Liveness)[keyof typeof Liveness];

// MCP tasks

/** The extension's DetailedTask: the only part of a record that may reach a client. */
export interface Task {
  taskId: string;
  status: TaskStatus;
  statusMessage?: string;
  createdAt: string;
  lastUpdatedAt: string;
  ttlMs: number | null;
  pollIntervalMs?: number;
  inputRequests?: Record<string, InputRequest>;
  result?: JsonObject;
  error?: Failure;
}

/** A question to the client. */
export interface InputRequest {
  method: 'elicitation/create' | 'sampling/createMessage' | 'roots/list' | (string & {});
  params?: object;
}

/** A JSON-RPC error. */
export interface Failure {
  code: number;
  message: string;
  data?: unknown;
}

/** Who holds a task, and until when; the token is in the answers to a claim and to a creation alone. */
export interface Lease {
  worker: string;
  expiresAt: string;
  token?: number;
}

/** How often queued work may be begun: after attempt n the next waits `backoffMs` times 2^(n-1). */
export interface Attempts {
  maximum?: number;
  backoffMs?: number;
  maximumBackoffMs?: number;
}

/** A task with what the server keeps beside it. */
export interface TaskRecord {
  task: Task;
  revision: number;
  endpoint: string;
  authorizationPartition: string | null;
  origin: unknown;
  metadata?: JsonObject;
  declaredInputRequests?: string[];
  cancelationRequested: boolean;
  /** From here on: of tasks with a queue, a lease or an operation id. */
  queue?: string | null;
  work?: unknown;
  checkpoint?: unknown;
  attempt?: number;
  attempts?: Required<Attempts>;
  availableAt?: string | null;
  lease?: Lease | null;
  lastFailure?: Failure | null;
  operationId?: string | null;
  created?: boolean;
}

/** A page of {@link TaskManager.listTasks}; the token is "" on the last one. */
export interface TaskPage {
  records: TaskRecord[];
  corrupt: string[];
  nextPageToken: string;
}

/** Which answers counted; for the host, not for the client. */
export interface UpdateOutcome {
  accepted: string[];
  ignored: string[];
}

/** What a queue gives; `taskId` is absent from `lagged`. Ignore events that you do not know. */
export interface TaskEvent {
  event: 'changed' | 'cancelation_requested' | 'finalized' | 'saved' | 'lagged' | (string & {});
  taskId?: string;
}

/** Options of {@link TaskManager.open}; null restores a default. */
export interface ManagerOptions {
  /** Managers with one name over one store share their tasks; "default". */
  name?: string | null;
  /** 1024; on SQL stores 0, no limit. */
  maximumRetainedTasks?: number | null;
  /** 0, no limit. */
  maximumRetainedTasksPerPartition?: number | null;
  /** 3600000. */
  taskTimeToLiveMs?: number | null;
  /** 1000. */
  pollIntervalMs?: number | null;
  /** 10485760. */
  maximumPayloadBytes?: number | null;
}

/** What a task is created with. */
export interface TaskCreation {
  /** The endpoint that the task belongs to, at most 1024 bytes. */
  endpoint: string;
  /** What it came from: any JSON but null. */
  origin: Payload;
  /** Who may see it; null, the default, is the anonymous partition. */
  authorizationPartition?: string | null;
  /** Stands as `_meta` in every rendering. */
  metadata?: ObjectPayload | null;
  /** What the task may ask; absent is anything. */
  declaredInputRequests?: readonly string[] | null;
  /** In the place of the manager's. */
  taskTimeToLiveMs?: number | null;
  /** Workers may claim the task. */
  queue?: string | null;
  /** Not claimable before; 0. */
  delayMs?: number | null;
  /** One unless given. */
  attempts?: Attempts | null;
  /** What a worker needs. */
  work?: unknown;
  /** The task begins in its creator's hands. */
  lease?: { worker: string; leaseMs: number } | null;
  /** Creating again gives the task that is there, with `created` false. */
  operationId?: string | null;
}

/** Conditions, decided in the same atomic step as the change. */
export interface Conditions {
  expectedRevision?: number | bigint | null;
  unlessCancelationRequested?: boolean | null;
}

/** Conditions, the last message for people, and the lease under which queued work is moved on. */
export interface TransitionOptions extends Conditions {
  /** The message for people; absent or null clears it. */
  statusMessage?: string | null;
  /** The token of the lease. */
  lease?: number | null;
}

/** The same; operators may pass `force` in the place of a lease. */
export interface ForcibleOptions extends TransitionOptions {
  force?: boolean | null;
}

/** The same, which questions to withdraw, and what another worker needs to go on. */
export interface WorkingOptions extends ForcibleOptions {
  /** Only these are superseded; `[]` sets the message of a task that goes on asking. */
  withdrawInputRequests?: readonly string[] | null;
  checkpoint?: unknown;
}

/** The same, what another worker needs to go on, and whether the task is parked until the last answer. */
export interface InputOptions extends TransitionOptions {
  checkpoint?: unknown;
  park?: boolean | null;
}

/** Options of {@link TaskManager.takeTaskInputResponses}. */
export interface TakeOptions extends Conditions {
  lease?: number | null;
  checkpoint?: unknown;
  /** Shows the answers, and clears nothing. */
  peek?: boolean | null;
}

/** Options of {@link TaskManager.releaseTask}. */
export interface ReleaseOptions {
  lease: number;
  delayMs?: number | null;
  countsAsAttempt?: boolean | null;
  /** Absent keeps the message, null clears it. */
  statusMessage?: string | null;
  checkpoint?: unknown;
  failure?: ObjectPayload | null;
}

/** A claim. */
export interface ClaimOptions {
  /** Who claims: 1 to 256 bytes. */
  worker: string;
  /** 1 to 64 queues, in strict order of preference. */
  queues: readonly string[];
  /** For how long the task is held unless the lease is renewed. */
  leaseMs: number;
}

/** Leases to renew: `leaseMs` from now. */
export interface Renewals {
  leaseMs: number;
  tasks: readonly { taskId: string; lease: number; checkpoint?: unknown }[];
}

/** The ids of the tasks whose lease was renewed or is lost; the last is a part of the first. */
export interface RenewalOutcome {
  renewed: string[];
  lost: string[];
  cancelationRequested: string[];
}

/** Which tasks {@link TaskManager.iterTasks} goes through, and whether with payloads. */
export interface TaskFilters {
  status?: TaskStatus | null;
  endpoint?: string | null;
  authorizationPartition?: string | null;
  queue?: string | null;
  worker?: string | null;
  workState?: 'scheduled' | 'ready' | 'leased' | 'parked' | null;
  includePayload?: boolean | null;
}

/** Filters and paging of {@link TaskManager.listTasks}. */
export interface TaskListOptions extends TaskFilters {
  pageSize?: number | null;
  pageToken?: string | null;
}

/** Options of {@link TaskManager.renderTask}. */
export interface RenderOptions {
  clientCapabilities?: ObjectPayload | null;
  subscriptionId?: string | number | bigint | null;
}

// MCP sessions

/** A session as it is given out, and as it is given to replace. */
export interface Session {
  sessionId: string;
  endpoint: string;
  authorizationPartition: string | null;
  createdAt: string;
  lastActivityAt: string;
  initialized: boolean;
  initializedNotificationReceived: boolean;
  protocolVersion: string | null;
  clientCapabilities: JsonObject | null;
  negotiatedCapabilities: JsonObject | null;
  sessionContext: JsonObject;
  terminatedAt: string | null;
  version: number;
}

/** A page of {@link SessionStore.listSessions}; the token is "" on the last one. */
export interface SessionPage {
  sessions: Session[];
  corrupt: string[];
  nextPageToken: string;
}

/** A session that was removed because it expired. */
export interface ExpiredSession {
  reason: 'idle' | 'uninitialized';
  sessionId: string;
  endpoint: string;
}

/** Options of {@link SessionStore.open}; null restores a default. */
export interface SessionStoreOptions {
  name?: string | null;
  idleTimeoutMs?: number | null;
  concurrentSessionLimit?: number | null;
  concurrentSessionLimitPerPartition?: number | null;
  initializationTimeoutMs?: number | null;
  keepExpired?: number | null;
}

/** What a session may be created with beside its endpoint. */
export interface SessionCreation {
  sessionId?: string | null;
  authorizationPartition?: string | null;
  sessionContext?: ObjectPayload | null;
}

/** Which sessions {@link SessionStore.iterSessions} goes through; a null `authorizationPartition` is the anonymous one. */
export interface SessionFilters {
  endpoint?: string | null;
  authorizationPartition?: string | null;
}

/** Filters and paging of {@link SessionStore.listSessions}. */
export interface SessionListOptions extends SessionFilters {
  pageSize?: number | null;
  pageToken?: string | null;
}

// A2A tasks

/** An A2A Task object. */
export interface A2ATask {
  id: string;
  status: { state: string; timestamp?: string; message?: JsonObject };
  contextId?: string;
  history?: JsonObject[];
  artifacts?: JsonObject[];
  metadata?: JsonObject;
}

/** A page of A2A tasks; `pageSize` is the number on it, the token is "" on the last one. */
export interface A2ATaskPage {
  tasks: A2ATask[];
  totalSize: number;
  pageSize: number;
  nextPageToken: string;
  revisions?: number[];
  corrupt?: string[];
}

/** Options of {@link StateProvider.open}; null restores a default. */
export interface StateProviderOptions {
  name?: string | null;
  gracePeriodMs?: number | null;
  maximumRetainedTasks?: number | null;
  finalizedRetentionMs?: number | null;
  activeRetentionMs?: number | null;
  maximumEventsPerTask?: number | null;
  maximumEventBytesPerTask?: number | null;
  announceSaves?: boolean | null;
  maximumPayloadBytes?: number | null;
}

/** Options of {@link StateProvider.saveTask}. */
export interface SaveOptions {
  /** 0: there must be none. */
  expectedRevision?: number | bigint | null;
  mustExist?: boolean | null;
  unlessFinal?: boolean | null;
  /** Any JSON but null that led to this state: appended to the task's log in the same step. */
  event?: unknown;
  isReplicated?: boolean | null;
}

/** Options of {@link StateProvider.readEvents}. */
export interface ReadOptions {
  afterRevision?: number | bigint | null;
  limit?: number | null;
}

/** A part of a task's log. */
export interface EventLog {
  events: { revision: number; event: unknown }[];
  revision: number;
  missing: boolean;
}

/** The push notification configs of a task. */
export interface PushConfigs {
  configs: { id: string; config: JsonObject }[];
}

/** Which A2A tasks {@link StateProvider.iterTasks} goes through, and how much of each. */
export interface A2AFilters {
  contextId?: string | null;
  status?: string | null;
  statusTimestampAfter?: string | null;
  historyLength?: number | null;
  includeArtifacts?: boolean | null;
}

/** Filters and paging of {@link StateProvider.listTasks}. */
export interface A2AListOptions extends A2AFilters {
  pageSize?: number | null;
  pageToken?: string | null;
  includeRevisions?: boolean | null;
  /** For operators and never for clients: the tasks of all owners, each as `{owner, revision, task}`. */
  anyOwner?: boolean | null;
}

// Stores and the library

/** How a store is filled. */
export interface StoreStats {
  backend: string;
  tasks: Record<string, number>;
  sessions: number;
  a2aTasks: number;
  expiredPending: number;
  bytes: number;
  waiters: number;
  eventQueues: number;
  queues?: {
    manager: string;
    queue: string;
    scheduled: number;
    ready: number;
    leased: number;
    parked: number;
    oldestReadyMs: number;
  }[];
  claims?: number;
  leasesLapsed?: number;
  expiredUnfinished?: number;
}

/** What a look through a store found; both lists have the first 100. */
export interface StoreCheck {
  ok: boolean;
  problems: string[];
  unreadable: { kind: 'task' | 'session' | 'a2a'; name: string; id: string }[];
  backend?: string;
  schemaVersion?: number;
  newestSchemaVersion?: number;
  records?: number;
  unreadableCount?: number;
}

/** How many records were copied, and how many events of the logs of A2A tasks. */
export interface StoreCopied {
  tasks: number;
  sessions: number;
  a2aTasks: number;
  events: number;
}

/** What the library is and can. */
export interface Description {
  version: string;
  abiVersion: number;
  backends: string[];
  limits: JsonObject;
  defaults: JsonObject;
  liveHandles: number;
}
