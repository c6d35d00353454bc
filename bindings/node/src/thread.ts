/** What the package's own threads run: calls of the library, one after another, or the renewal of leases. */

import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { Job, ThreadData } from './threads.js';

function serve(port: MessagePort, role: ThreadData['role']): void {
  const { library } = require('./native.js') as typeof import('./native.js');
  if (role === 'leases') {
    const { keepLeases } = require('./leases.js') as typeof import('./leases.js');
    keepLeases(library, port);
  } else {
    const { drain } = require('./drain.js') as typeof import('./drain.js');
    port.on('message', (job: Job | null) => {
      if (job === null) {
        port.close();
        return;
      }
      const { name, args, most } = job;
      port.postMessage(most === undefined ? library.invoke(name, args) : drain(library, args[0] as bigint, most));
    });
  }
}

if (parentPort !== null) {
  const { role, loaded } = workerData as ThreadData;
  try {
    serve(parentPort, role);
  } finally {
    Atomics.store(loaded, 0, 1);
    Atomics.notify(loaded, 0);
  }
}
