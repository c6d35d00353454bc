/** The programs of the documents compile and run. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT } from './header.js';

const HERE = path.join(ROOT, 'bindings/node');
// Inside the package, so that its name means what was built.
const PLACE = path.join(HERE, '.tests/documents');

test('the programs of the documents compile and run', t => {
  rmSync(PLACE, { recursive: true, force: true });
  mkdirSync(PLACE, { recursive: true });
  t.after(() => rmSync(PLACE, { recursive: true, force: true }));
  const pages = ['README.md', ...readdirSync(path.join(HERE, 'docs')).map(name => `docs/${name}`)];
  const programs: string[] = [];
  for (const page of pages) {
    const blocks = readFileSync(path.join(HERE, page), 'utf8').matchAll(/^```ts\n([\s\S]*?)^```$/gm);
    for (const [at, block] of [...blocks].entries()) {
      const name = `${path.parse(page).name.toLowerCase()}-${at + 1}.mts`;
      programs.push(name);
      writeFileSync(path.join(PLACE, name), block[1] as string);
    }
  }
  assert.ok(programs.length >= 4);
  const options = { extends: '../../tests/tsconfig.json', compilerOptions: { rootDir: '.', outDir: '.' } };
  writeFileSync(path.join(PLACE, 'tsconfig.json'), JSON.stringify({ ...options, include: ['*.mts'], exclude: [] }));
  const tsc = path.join(HERE, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [tsc, '-p', PLACE], { stdio: 'inherit' });
  for (const version of ['node20', 'node22']) {
    const node = path.join(HERE, 'node_modules', version, 'bin/node');
    for (const name of programs) {
      execFileSync(node, [path.join(PLACE, name.replace(/ts$/, 'js'))], { cwd: PLACE, timeout: 30_000 });
    }
  }
});
