/** The session store: MCP sessions, replaced by compare-and-set. */

import { Handle } from './handle.js';
import { optionalText, options, text } from './json.js';
import { pages } from './pages.js';
import { payload } from './protocol.js';
import { type Opened, openOver, type StoreLike } from './store.js';
import type {
  ExpiredSession,
  ObjectPayload,
  Session,
  SessionCreation,
  SessionFilters,
  SessionListOptions,
  SessionPage,
  SessionStoreOptions,
} from './types.js';

/**
 * A store of MCP sessions: it admits and finds sessions, and replaces them by compare-and-set.
 *
 * ```ts
 * await using sessions = await SessionStore.open();
 * const session = await sessions.create('/mcp', { authorizationPartition: 'alice' });
 * ```
 */
export class SessionStore extends Handle {
  private constructor({ token, threads }: Opened) {
    super(token, 'session_store_close', threads);
  }

  /**
   * Opens a session store.
   *
   * Source: `taskhold_session_store_open`.
   *
   * @param store where the sessions live: a {@link Store}, its URL, or null for a private one in memory.
   * @param given options; each has a default.
   * @throws {InvalidArgumentError} an option is malformed or unknown, or the URL is of no known form.
   * @throws {UnavailableError} the storage failed.
   */
  static open(store: StoreLike = null, given: SessionStoreOptions = {}): Promise<SessionStore> {
    return openOver(store, 'session_store_open', given, opened => new SessionStore(opened));
  }

  /**
   * The options that the session store works with, defaults filled in.
   *
   * Source: `taskhold_session_store_options`.
   */
  async options(): Promise<Required<SessionStoreOptions>> {
    return JSON.parse(await this.optionsJson()) as Required<SessionStoreOptions>;
  }

  /** As {@link options}; gives the text. */
  optionsJson(): Promise<string> {
    return this._text('session_store_options');
  }

  /**
   * Creates and admits a session: new, not initialized, version 0. The limit is checked in the same atomic step.
   *
   * Source: `taskhold_session_store_create`.
   *
   * @param endpoint the endpoint that the session belongs to, at most 1024 bytes.
   * @param creation its id, unless one is made; whom it is bound to; its context.
   * @returns the session, or null when it is declined because the limit is reached.
   * @throws {ConflictError} `session_id_in_use`.
   * @throws {InvalidArgumentError} an argument is malformed.
   * @throws {LimitExceededError} the context is too large or too deep.
   */
  async create(endpoint: string, creation: SessionCreation = {}): Promise<Session | null> {
    return JSON.parse((await this.createJson(endpoint, creation)) ?? 'null') as Session | null;
  }

  /** As {@link create}; gives the text. */
  async createJson(endpoint: string, creation: SessionCreation = {}): Promise<string | null> {
    return (await this._call('session_store_create', text(endpoint), options(creation))).text;
  }

  /**
   * Finds a session by its id.
   *
   * Source: `taskhold_session_store_find_by_session_id`.
   *
   * @returns the session, or null when there is none or it expired.
   */
  async findBySessionId(sessionId: string): Promise<Session | null> {
    return JSON.parse((await this.findBySessionIdJson(sessionId)) ?? 'null') as Session | null;
  }

  /** As {@link findBySessionId}; gives the text. */
  async findBySessionIdJson(sessionId: string): Promise<string | null> {
    return (await this._call('session_store_find_by_session_id', text(sessionId))).text;
  }

  /**
   * Finds a session that the caller may use: its endpoint and its authorization partition must both match.
   *
   * Source: `taskhold_session_store_find_authorized_session`.
   *
   * @returns the session, or null for unknown, expired and foreign ones alike.
   */
  async findAuthorizedSession(endpoint: string, partition: string | null, sessionId: string): Promise<Session | null> {
    const found = await this.findAuthorizedSessionJson(endpoint, partition, sessionId);
    return JSON.parse(found ?? 'null') as Session | null;
  }

  /** As {@link findAuthorizedSession}; gives the text. */
  async findAuthorizedSessionJson(
    endpoint: string,
    partition: string | null,
    sessionId: string,
  ): Promise<string | null> {
    const args = [text(endpoint), optionalText(partition), text(sessionId)];
    return (await this._call('session_store_find_authorized_session', ...args)).text;
  }

  /**
   * Lists sessions for operators, oldest first. Never for clients. Sessions that expired are not shown, terminated ones
   * are. To be listed keeps no session alive.
   *
   * Source: `taskhold_session_store_list_sessions`.
   *
   * @throws {InvalidArgumentError} `invalid_page_token`, or a parameter is malformed.
   */
  async listSessions(params: SessionListOptions = {}): Promise<SessionPage> {
    return JSON.parse(await this.listSessionsJson(params)) as SessionPage;
  }

  /** As {@link listSessions}; gives the text. */
  async listSessionsJson(params: SessionListOptions = {}): Promise<string> {
    return this._text('session_store_list_sessions', options(params));
  }

  /** All sessions that match, page after page: a full walk meets every session that stays meanwhile, each once. */
  async *iterSessions(filters: SessionFilters = {}): AsyncGenerator<Session, void, void> {
    for await (const page of pages(params => this.listSessions(params), filters)) yield* page.sessions;
  }

  /**
   * Replaces a session by compare-and-set: only if it has not expired and is stored exactly as expected.
   *
   * Source: `taskhold_session_store_replace`.
   *
   * @param expected the session as it was given out.
   * @param updated the session as it shall be, with a greater `version`.
   * @returns whether it was replaced; a lost race changes nothing.
   * @throws {InvalidArgumentError} `invalid_replacement`, or one of the two is no session.
   */
  async replace(expected: ObjectPayload, updated: ObjectPayload): Promise<boolean> {
    return (await this._call('session_store_replace', payload(expected), payload(updated))).value !== 0n;
  }

  /**
   * Deletes a session. One that is not there is fine.
   *
   * Source: `taskhold_session_store_delete_by_session_id`.
   */
  async deleteBySessionId(sessionId: string): Promise<void> {
    await this._call('session_store_delete_by_session_id', text(sessionId));
  }

  /**
   * Pins a session: it is in use by a stream and does not expire. Pins are counted, and end with this object.
   *
   * Source: `taskhold_session_store_pin`.
   *
   * @returns whether it is pinned; false if there is no such session or it expired.
   */
  async pin(sessionId: string): Promise<boolean> {
    return (await this._call('session_store_pin', text(sessionId))).value !== 0n;
  }

  /**
   * Takes back one pin of this object. The idle time of a session starts at its last unpin.
   *
   * Source: `taskhold_session_store_unpin`.
   */
  async unpin(sessionId: string): Promise<void> {
    await this._call('session_store_unpin', text(sessionId));
  }

  /**
   * Takes sessions that expired, each once, so that the host can let go of what it kept beside them. Only the last
   * `keepExpired` ones are there.
   *
   * Source: `taskhold_session_store_take_expired`.
   */
  async takeExpired(): Promise<ExpiredSession[]> {
    return JSON.parse(await this.takeExpiredJson()) as ExpiredSession[];
  }

  /** As {@link takeExpired}; gives the text. */
  takeExpiredJson(): Promise<string> {
    return this._text('session_store_take_expired');
  }
}
