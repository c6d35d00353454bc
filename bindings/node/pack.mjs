// Puts into the package what stands elsewhere in the repository: the native library of this platform, from build/lib or from
// TASKHOLD_LIBRARY, and the licences. usage: node pack.mjs (npm pack runs it)

import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, '../..');
process.env.TASKHOLD_LIBRARY ??= path.join(root, 'build/lib/libtaskhold.so');
// Only a library that this package can load is put into it.
const { library, platformFolder, fileName } = await import('./dist/native.js').then(module => module.default);

const natives = path.join(here, 'natives', platformFolder());
rmSync(natives, { recursive: true, force: true });
mkdirSync(natives, { recursive: true });
copyFileSync(library.path, path.join(natives, fileName(process.platform)));
for (const license of ['LICENSE-APACHE', 'LICENSE-MIT'])
  copyFileSync(path.join(root, license), path.join(here, license));
