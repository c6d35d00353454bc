/** What only newer versions of Node have. */

import * as threads from 'node:worker_threads';

/** Has structured cloning refuse an object: a copy in another thread would not be it. From Node 22.10 on. */
export const markAsUncloneable: (object: object) => void =
  (threads as { markAsUncloneable?: (object: object) => void }).markAsUncloneable ?? (() => {});
