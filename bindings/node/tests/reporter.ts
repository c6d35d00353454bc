/** Prints what failed, what the tests tell beside that, and how many there were. */

import type { TestEvent } from 'node:test/reporters';

async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string, void> {
  for await (const { type, data } of events) {
    if (type === 'test:fail') {
      const error = data.details.error as Error & { failureType?: string };
      if (error.failureType === 'subtestsFailed') continue;
      const { cause } = error;
      yield `not ok: ${data.name}\n${cause instanceof Error ? cause.stack : String(cause ?? error.message)}\n`;
    } else if (type === 'test:diagnostic') {
      // The numbers of the whole run, and what tests have measured.
      if (!/^(suites|cancelled|skipped|todo) 0$/.test(data.message)) yield `# ${data.message}\n`;
    } else if (type === 'test:stderr') {
      yield data.message;
    }
  }
}

export = report;
