// Compiles the package into dist: CommonJS with its types, and for each entry an ES module that gives the same objects, so
// that a process that loads both has one of each class. usage: node build.mjs

import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const { exports: entries } = JSON.parse(readFileSync(path.join(here, 'package.json'), 'utf8'));

rmSync(path.join(here, 'dist'), { recursive: true, force: true });
execFileSync(process.execPath, [path.join(here, 'node_modules/typescript/bin/tsc'), '-p', here], { stdio: 'inherit' });
for (const entry of Object.values(entries)) {
  if (typeof entry === 'string') continue;
  const file = entry.require.default;
  const module = path.basename(file);
  // The names stand in the compiled text, so that nothing is loaded here.
  const text = readFileSync(path.join(here, file), 'utf8');
  const names = new Set(
    [...text.matchAll(/^(?:exports\.|Object\.defineProperty\(exports, ")(\w+)/gm)].map(found => found[1]),
  );
  names.delete('__esModule');
  const list = [...names].sort().join(', ');
  writeFileSync(
    path.join(here, entry.import.default),
    `import cjs from './${module}';\nexport const { ${list} } = cjs;\n`,
  );
  writeFileSync(path.join(here, entry.import.types), `export * from './${module}';\n`);
}
