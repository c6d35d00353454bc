/** What stands in a request about tasks: who calls, what the client declared, and which task the header names. */

import { createHash } from 'node:crypto';
import type { AuthInfo, ServerContext } from '@modelcontextprotocol/server';
import type { InputRequest, JsonObject } from '../types.js';

/** The extension's identifier. */
export const EXTENSION = 'io.modelcontextprotocol/tasks';
export const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';

export const INTERNAL_ERROR = -32603;
export const INVALID_PARAMS = -32602;
export const MISSING_CAPABILITY = -32021;
export const HEADER_MISMATCH = -32020;

/** The library's limit of a partition. */
const LONGEST_PARTITION = 1024;

/** An error that reaches the client with its code. */
export class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly data?: unknown,
  ) {
    super(message);
    this.name = 'RpcError';
  }
}

/** What a client declared with a request. */
export interface Capabilities extends JsonObject {
  extensions?: JsonObject;
  elicitation?: { form?: object; url?: object };
  sampling?: object;
  roots?: object;
}

/** What the client declared with this request; nothing before version 2026-07-28 of the protocol. */
export function capabilities(ctx: ServerContext): Capabilities {
  const envelope = ctx.mcpReq.envelope as Record<string, Capabilities | undefined> | undefined;
  return envelope?.[CAPABILITIES] ?? {};
}

/** Whether the client said that it knows tasks. */
export function declares(given: Capabilities): boolean {
  return given.extensions !== undefined && EXTENSION in given.extensions;
}

/** The error for a client that did not declare what is needed. */
export function missingCapability(requiredCapabilities: JsonObject): RpcError {
  return new RpcError(MISSING_CAPABILITY, 'Missing required client capability', { requiredCapabilities });
}

/** The error for a client that does not know tasks. */
export function missingExtension(): RpcError {
  return missingCapability({ extensions: { [EXTENSION]: {} } });
}

/** Whose tasks the caller may see: the client, issuer and subject of the access token, null without one. */
export function principal(authInfo: AuthInfo | undefined): string | null {
  if (authInfo === undefined) return null;
  const { iss = null, sub = null } = (authInfo.extra ?? {}) as { iss?: unknown; sub?: unknown };
  const name = JSON.stringify([authInfo.clientId, iss, sub]);
  if (Buffer.byteLength(name) <= LONGEST_PARTITION) return name;
  return `sha256:${createHash('sha256').update(name).digest('hex')}`;
}

/** The kinds of input requests that a client can answer. */
export function kinds(given: Capabilities): string[] {
  const found: string[] = [];
  const { elicitation } = given;
  if (elicitation !== undefined) {
    // An empty declaration means forms: it is older than the other kind.
    if (elicitation.form !== undefined || elicitation.url === undefined) found.push('elicitation/form');
    if (elicitation.url !== undefined) found.push('elicitation/url');
  }
  if (given.sampling !== undefined) found.push('sampling/createMessage');
  if (given.roots !== undefined) found.push('roots/list');
  return found;
}

/** The kind of an input request, and the capability that a client needs for it. */
export function kind(request: InputRequest): [string, JsonObject] {
  if (request.method !== 'elicitation/create') {
    return [request.method, { [request.method.split('/')[0] as string]: {} }];
  }
  const { mode = 'form' } = (request.params ?? {}) as { mode?: string };
  return [`elicitation/${mode}`, { elicitation: { [mode]: {} } }];
}

/** Refuses a request over HTTP whose `Mcp-Name` header is missing or names another task than its body. */
export function checkName(ctx: ServerContext, taskId: unknown): void {
  const headers = ctx.http?.req?.headers;
  if (headers === undefined || typeof taskId !== 'string') return;
  if (decoded(headers.get('mcp-name')) === taskId) return;
  throw new RpcError(HEADER_MISMATCH, "The Mcp-Name header is missing or does not match the parameter 'taskId'");
}

/** A header's value; what a header cannot hold comes as `=?base64?…?=`. */
function decoded(value: string | null): string | null {
  const encoded = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(value ?? '')?.[1];
  return encoded === undefined ? value : Buffer.from(encoded, 'base64').toString();
}
