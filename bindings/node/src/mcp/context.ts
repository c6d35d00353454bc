/** What a tool's handler has for a client while it runs as a task: questions become input requests, progress a message. */

import type { ServerContext } from '@modelcontextprotocol/server';
import type { InputRequest, JsonObject } from '../types.js';
import type { Run } from './run.js';

type Request = ServerContext['mcpReq'];
type Sent = { method: string; params?: JsonObject };

/** Requests to the client that can be asked through a task. */
const ASKABLE = new Set(['elicitation/create', 'sampling/createMessage', 'roots/list']);

/** The context of the request that a run answers. Until the run is a task, all goes where it would go without one. */
export function redirected(run: Run, responses?: { given: JsonObject; state: string | undefined }): ServerContext {
  const { mcpReq } = run.ctx;
  const ask = async (request: InputRequest): Promise<unknown> => (await run.ask([request]))[0];

  const own: Partial<Record<keyof Request, unknown>> = {
    signal: run.signal,
    send: (request: Sent, ...rest: unknown[]) =>
      run.isTask && ASKABLE.has(request.method)
        ? ask({ method: request.method, params: request.params ?? {} })
        : (mcpReq.send as (...args: unknown[]) => unknown)(request, ...rest),
    notify: (notification: Sent) => run.notify(notification),
    elicitInput: (params: object, options?: object) =>
      run.isTask
        ? ask({ method: 'elicitation/create', params })
        : (mcpReq.elicitInput as (...args: unknown[]) => unknown)(params, options),
    requestSampling: (params: object, options?: object) =>
      run.isTask
        ? ask({ method: 'sampling/createMessage', params })
        : (mcpReq.requestSampling as (...args: unknown[]) => unknown)(params, options),
    // There is nowhere to send a message of a log while the run is a task.
    log: (...args: Parameters<Request['log']>) => (run.isTask ? Promise.resolve() : mcpReq.log(...args)),
  };
  if (responses !== undefined) {
    own.inputResponses = responses.given;
    own.droppedInputResponseKeys = undefined;
    own.requestState = () => responses.state;
  }
  return { ...run.ctx, mcpReq: { ...mcpReq, ...own } as Request };
}
