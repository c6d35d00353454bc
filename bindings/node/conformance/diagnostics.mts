/**
 * The server of examples/node with the tools by which the suite's scenario server-stateless looks into a server.
 *
 *     node diagnostics.mts, with the options of examples/node/server.ts
 */

import { parseArgs } from 'node:util';
import { makeServer, options, serve } from '../../../examples/node/server.ts';

const done = () => ({ content: [{ type: 'text' as const, text: 'done' }] });

await serve(parseArgs({ options }).values, (tasks, notify) => {
  const server = makeServer(tasks);
  server.server.registerCapabilities({ prompts: { listChanged: true } });
  server.registerTool('test_trigger_tool_change', {}, () => {
    notify.toolsChanged();
    return done();
  });
  server.registerTool('test_trigger_prompt_change', {}, () => {
    notify.promptsChanged();
    return done();
  });
  // It needs sampling from a client that does not declare it.
  const request = { method: 'sampling/createMessage' as const, params: { messages: [], maxTokens: 1 } };
  server.registerTool('test_missing_capability', {}, () => ({
    resultType: 'input_required' as const,
    inputRequests: { sample: request },
  }));
  // With no request of its own on the stream, and with nothing to log since the client did not ask for it.
  server.registerTool('test_streaming_elicitation', {}, done);
  server.registerTool('test_logging_tool', {}, done);
  return server;
});
