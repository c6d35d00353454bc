/** Takes what is in a queue of events, without waiting. */

import type { Answer, Library } from './native.js';

/** The status of a call that had to wait. */
export const TIMEOUT = 8;

/**
 * Takes at most so many events.
 *
 * @returns the events as lines, with OK or with the status of the call that ended it: a timeout when no more are there.
 */
export function drain(library: Library, queue: bigint, most: number): Answer {
  const events: string[] = [];
  let last: Answer = { status: 0, text: null, value: 0n, error: null };
  while (events.length < most) {
    last = library.invoke('events_next', [queue, 0]);
    if (last.text === null) break;
    events.push(last.text);
  }
  const status = last.status === TIMEOUT ? 0 : last.status;
  return { ...last, status, text: events.join('\n') };
}
