/**
 * One tool call: in the foreground until it becomes a task, and in the background from then on.
 *
 * A run follows its task in the store. So it sees answers and requests for cancelation that another process took, and stops
 * when the task has ended without it. What it stores is the last word only if it comes first: of racing ends one wins.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CallToolResult, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server';
import {
  ClosedError,
  ConflictError,
  InvalidArgumentError,
  InvalidStateError,
  LimitExceededError,
  NotFoundError,
  UnavailableError,
} from '../errors.js';
import type { TaskManager } from '../manager.js';
import type { InputRequest, JsonObject, TaskRecord } from '../types.js';
import type { Work } from '../work.js';
import { redirected } from './context.js';
import { capabilities, INTERNAL_ERROR, kind, kinds, missingCapability } from './wire.js';

/** What a tool's handler gives. */
export type ToolResult = CallToolResult | InputRequiredResult;

/** Runs the tool once, in this context. */
export type Body = (ctx: ServerContext) => Promise<ToolResult>;

/** What a run needs of the extension. */
export interface Host {
  readonly manager: TaskManager;
  readonly leaseMs: number | null;
  create(ctx: ServerContext, tool: string, kinds: string[]): Promise<TaskRecord>;
  begun(run: Run): void;
  over(run: Run): void;
  report(what: string, error: unknown): void;
}

/** Between attempts to store the end of a task while the storage fails, in milliseconds. */
const PAUSES = [100, 1000, 5000];

const ENDED = ['completed', 'failed', 'cancelled'];

const current = new AsyncLocalStorage<Run>();

/** The run whose tool calls this. */
export function currentRun(): Run | undefined {
  return current.getStore();
}

/** Why the signal of a tool is aborted. */
export class Stopped extends Error {
  /** @param reason the client asked for it, the task ended or is in other hands, or the server stops. */
  constructor(readonly reason: 'cancelation_requested' | 'gone' | 'stopping') {
    super(`the task is to stop: ${reason}`);
    this.name = 'AbortError';
  }
}

interface Question {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** A task that ended, expired or is in other hands: there is nothing left to do for it here. */
function isGone(error: unknown): boolean {
  return (
    error instanceof NotFoundError ||
    error instanceof InvalidStateError ||
    error instanceof ConflictError ||
    error instanceof ClosedError
  );
}

/** A tool call that may become a task. */
export class Run {
  record: TaskRecord | null = null;
  readonly #controller = new AbortController();
  readonly #kinds: string[];
  readonly #questions = new Map<string, Question>();
  readonly #created: Promise<void>;
  #tell: () => void = () => {};
  #creating: Promise<void> | undefined;
  #asking: Promise<unknown> = Promise.resolve();
  #work: Work | undefined;
  #message: string | null = null;
  #said: string | null = null;
  #saying = false;
  #thrown: { error: unknown } | undefined;
  #settling = false;

  constructor(
    private readonly host: Host,
    readonly ctx: ServerContext,
    private readonly tool: string,
    private readonly body: Body,
  ) {
    this.#kinds = kinds(capabilities(ctx));
    this.#created = new Promise(resolve => {
      this.#tell = resolve;
    });
    const { signal } = ctx.mcpReq;
    // The client went away; if the run already is a task, it may come back for it.
    signal.addEventListener('abort', () => this.isTask || this.#controller.abort(signal.reason), { once: true });
  }

  /** Aborted when the tool is to stop. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether there is a task. */
  get isTask(): boolean {
    return this.record !== null;
  }

  /** Settles once the run is a task. */
  get created(): Promise<void> {
    return this.#created;
  }

  get #taskId(): string {
    return (this.record as TaskRecord).task.taskId;
  }

  get #lease(): { lease?: number } {
    return this.#work === undefined ? {} : { lease: this.#work.lease };
  }

  /** Runs the tool; gives its result, or what a task's client would get. */
  start(): Promise<ToolResult | undefined> {
    return current.run(this, () => this.#drive());
  }

  /** Makes the run a task, unless it is one; the task is stored when this settles. */
  create(): Promise<void> {
    this.#creating ??= this.#create();
    return this.#creating;
  }

  async #create(): Promise<void> {
    const record = await this.host.create(this.ctx, this.tool, this.#kinds);
    this.record = record;
    if (this.host.leaseMs !== null && record.lease?.token !== undefined) {
      const work = this.host.manager.hold(record, this.host.leaseMs);
      this.#work = work;
      work.signal.addEventListener('abort', () => {
        this.stop(work.interrupted === 'cancelation_requested' ? 'cancelation_requested' : 'gone');
      });
    }
    this.host.begun(this);
    void this.#watch(record.revision);
    this.#tell();
  }

  /** Tells the tool to stop; nothing if its end is being stored. */
  stop(reason: Stopped['reason']): void {
    if (!this.#settling) this.#controller.abort(new Stopped(reason));
  }

  /** Keeps what the tool threw: the SDK makes a result of it. */
  threw(error: unknown): void {
    this.#thrown = { error };
  }

  // What the tool's context does

  /** Puts questions to the client, and waits for all answers. */
  async ask(requests: InputRequest[]): Promise<unknown[]> {
    this.signal.throwIfAborted();
    for (const request of requests) {
      const [needed, capability] = kind(request);
      if (!this.#kinds.includes(needed)) throw missingCapability(capability);
    }
    // Keys that nobody used before in the life of the task, whoever worked on it.
    const asked = Object.fromEntries(requests.map(request => [randomUUID(), request]));
    const answers = Object.keys(asked).map(
      key => new Promise<unknown>((resolve, reject) => this.#questions.set(key, { resolve, reject })),
    );
    const stopped = (): void => {
      for (const key of Object.keys(asked)) this.#questions.get(key)?.reject(this.signal.reason);
    };
    this.signal.addEventListener('abort', stopped, { once: true });
    const all = Promise.all(answers);
    all.catch(() => {});
    try {
      await this.#requestInput(asked);
      return await all;
    } finally {
      this.signal.removeEventListener('abort', stopped);
      for (const key of Object.keys(asked)) this.#questions.delete(key);
    }
  }

  /** Sends a notification; while the run is a task there is nowhere to send it, but progress becomes a message. */
  async notify(notification: { method: string; params?: JsonObject }): Promise<void> {
    if (!this.isTask) return this.ctx.mcpReq.notify(notification as Parameters<ServerContext['mcpReq']['notify']>[0]);
    if (notification.method !== 'notifications/progress') return;
    const {
      progress = 0,
      total,
      message,
    } = (notification.params ?? {}) as {
      progress?: number;
      total?: number;
      message?: string;
    };
    await this.#say(message ?? (total === undefined ? `${progress}` : `${progress}/${total}`));
  }

  /** One after another: an earlier question that was answered meanwhile has to be out of the way. */
  async #requestInput(asked: Record<string, InputRequest>): Promise<void> {
    const request = async (): Promise<void> => {
      for (;;) {
        const options = { statusMessage: this.#message, ...this.#lease };
        try {
          await this.host.manager.requestTaskInput(this.#taskId, asked, options);
          return;
        } catch (error) {
          if (!(error instanceof InvalidStateError) || error.reason !== 'input_responses_untaken') throw error;
        }
        await this.#take();
      }
    };
    const done = this.#asking.then(request);
    this.#asking = done.catch(() => {});
    await done;
  }

  async #take(): Promise<void> {
    // The last answer cleared the message.
    this.#said = null;
    const answers = await this.host.manager.takeTaskInputResponses(this.#taskId, this.#lease);
    for (const [key, answer] of Object.entries(answers)) this.#questions.get(key)?.resolve(answer);
  }

  /** Sets the status message. What is said while the store writes is written next, the latest only. */
  async #say(message: string): Promise<void> {
    this.#message = message;
    if (this.#saying) return;
    this.#saying = true;
    try {
      while (this.#message !== this.#said) {
        const said = this.#message;
        // No question is withdrawn by progress.
        const options = { statusMessage: said, withdrawInputRequests: [], ...this.#lease };
        await this.host.manager.markTaskWorking(this.#taskId, options);
        this.#said = said;
      }
    } catch (error) {
      // The watch tells the tool.
      if (!isGone(error)) throw error;
    } finally {
      this.#saying = false;
    }
  }

  // The task's life

  /** Follows the task, and tells the tool what came: answers, a request for cancelation, an end. */
  async #watch(begun: number): Promise<void> {
    let revision = begun;
    const { signal } = this;
    while (!signal.aborted && !this.#settling) {
      try {
        const record = await this.host.manager.waitTask(this.#taskId, revision, { signal });
        if (this.#questions.size > 0) await this.#take();
        // Seen only now: a take that failed is made again.
        revision = record.revision;
        if (record.cancelationRequested) this.stop('cancelation_requested');
        else if (ENDED.includes(record.task.status)) this.stop('gone');
      } catch (error) {
        if (signal.aborted) return;
        if (isGone(error)) this.stop('gone');
        else {
          this.host.report('a task cannot be followed', error);
          await sleep(1000, undefined, { signal }).catch(() => {});
        }
      }
    }
  }

  async #drive(): Promise<ToolResult | undefined> {
    try {
      const result = await this.#attempts();
      if (!this.isTask) return result;
      await this.#settle(result);
    } catch (error) {
      if (!this.isTask) throw error;
      await this.#fail(error);
    } finally {
      this.#settling = true;
      // The watch ends with it.
      this.#controller.abort(new Stopped('gone'));
      if (this.#work !== undefined) this.host.manager._leases.remove(this.#work);
      this.host.over(this);
    }
    return undefined;
  }

  /** Runs the tool; while the run is a task, a result that asks for input is asked through it. */
  async #attempts(): Promise<ToolResult> {
    let responses: { given: JsonObject; state: string | undefined } | undefined;
    for (;;) {
      this.#thrown = undefined;
      const result = await this.body(redirected(this, responses));
      if (!this.isTask || !asksForInput(result)) return result;
      const asked = Object.entries((result.inputRequests ?? {}) as Record<string, InputRequest>);
      const answers = asked.length === 0 ? [] : await this.ask(asked.map(([, request]) => request));
      const given = Object.fromEntries(asked.map(([key], at) => [key, answers[at]]));
      responses = { given, state: result.requestState as string | undefined };
    }
  }

  /** Stores what came of the tool. */
  async #settle(result: ToolResult): Promise<void> {
    this.#settling = true;
    if (this.#thrown !== undefined && (this.signal.aborted || hasCode(this.#thrown.error))) {
      await this.#fail(this.#thrown.error);
      return;
    }
    const { manager } = this.host;
    // The SDK puts this on what it sends; here the result is sent inside that of tasks/get.
    const shaped = { ...result, resultType: 'complete' };
    try {
      await this.#store(() => manager.completeTask(this.#taskId, shaped, this.#lease));
    } catch (error) {
      // The tool gave what is no result, or more than a task holds.
      const refused = error instanceof InvalidArgumentError || error instanceof LimitExceededError;
      if (!refused && !(error instanceof TypeError)) throw error;
      await this.#fail(error);
    }
  }

  /** Stores that the tool failed, or why it was stopped; only a client makes a task cancelled. */
  async #fail(error: unknown): Promise<void> {
    this.#settling = true;
    const { manager } = this.host;
    const reason = this.signal.reason as unknown;
    if (reason instanceof Stopped && reason.reason === 'cancelation_requested') {
      await this.#store(() => manager.cancelTask(this.#taskId, this.#lease));
      return;
    }
    // It ended, or is in other hands: whatever the tool says of that, the task has its end or will have it.
    if (reason instanceof Stopped && reason.reason === 'gone') return;
    let failure: { code: number; message: string; data?: unknown };
    if (reason instanceof Stopped && reason.reason === 'stopping') {
      failure = { code: INTERNAL_ERROR, message: 'The server stopped before the work was done' };
    } else if (hasCode(error)) {
      failure = { code: error.code, message: error.message, ...(error.data === undefined ? {} : { data: error.data }) };
    } else {
      this.host.report(`the tool ${this.tool} failed`, error);
      failure = { code: INTERNAL_ERROR, message: 'Internal error' };
    }
    const options = { statusMessage: failure.message, ...this.#lease };
    await this.#store(() => manager.failTask(this.#taskId, failure, options));
  }

  /** Ends the task of a tool that does not stop. */
  async abandon(): Promise<void> {
    await this.#fail(undefined);
  }

  /** Stores the end of the task, unless it has one. */
  async #store(ending: () => Promise<unknown>): Promise<void> {
    for (const pause of [...PAUSES, undefined]) {
      try {
        await ending();
        return;
      } catch (error) {
        if (isGone(error)) return;
        if (!(error instanceof UnavailableError)) throw error;
        if (pause === undefined) this.host.report('the end of a task could not be stored', error);
        else await sleep(pause);
      }
    }
  }
}

function asksForInput(result: ToolResult): result is InputRequiredResult {
  return (result as { resultType?: unknown }).resultType === 'input_required';
}

/** An error that stands for a JSON-RPC error, such as the SDK's `ProtocolError`. */
function hasCode(error: unknown): error is Error & { code: number; data?: unknown } {
  return error instanceof Error && Number.isSafeInteger((error as { code?: unknown }).code);
}
