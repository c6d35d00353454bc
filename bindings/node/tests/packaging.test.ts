/** What the package is made of, and that programs can use it both ways. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { platformFolder } from '../dist/native.js';
import { ROOT } from './header.js';
import { folder } from './kit.js';

const HERE = path.join(ROOT, 'bindings/node');

interface Packed {
  filename: string;
  size: number;
  unpackedSize: number;
  files: { path: string; size: number }[];
}

/** Runs a program as a user's machine would, where nothing names the library. */
function run(program: string, cwd: string, ...args: string[]): string {
  const { TASKHOLD_LIBRARY: _, ...env } = process.env;
  return execFileSync(program, args, { cwd, env, encoding: 'utf8' });
}

test('the package has what it needs, and programs import and require each entry', t => {
  const place = folder(t);
  const cache = path.join(place, 'cache');
  const args = ['pack', '--json', '--ignore-scripts', '--cache', cache, '--pack-destination', place];
  const env = { ...process.env, PATH: `${path.dirname(process.execPath)}:${process.env['PATH']}` };
  execFileSync(process.execPath, ['pack.mjs'], { cwd: HERE, env });
  const [packed] = JSON.parse(execFileSync('npm', args, { cwd: HERE, env, encoding: 'utf8' })) as [Packed];
  const files = packed.files.map(file => file.path);
  t.diagnostic(
    `the package has ${files.length} files, ${packed.size} bytes packed and ${packed.unpackedSize} unpacked`,
  );
  const { exports: entries } = JSON.parse(readFileSync(path.join(HERE, 'package.json'), 'utf8')) as {
    exports: Record<string, string | Record<'import' | 'require', Record<'types' | 'default', string>>>;
  };
  for (const entry of Object.values(entries)) {
    if (typeof entry === 'string') continue;
    for (const file of [...Object.values(entry.import), ...Object.values(entry.require)]) {
      assert.ok(files.includes(file.slice(2)), file);
    }
  }
  assert.ok(files.includes('README.md') && files.includes('LICENSE-MIT') && files.includes('LICENSE-APACHE'));
  assert.equal(files.filter(file => file.startsWith(`natives/${platformFolder()}/`)).length, 1);
  assert.deepEqual(
    files.filter(
      file =>
        !/^(dist\/.*\.(js|mjs|d\.ts|d\.mts)|natives\/.*|docs\/.*\.md|README\.md|LICENSE-\w+|package\.json)$/.test(file),
    ),
    [],
  );
  // Nothing that is internal is in the types.
  for (const name of readdirSync(path.join(HERE, 'dist')).filter(one => one.endsWith('.d.ts'))) {
    assert.doesNotMatch(readFileSync(path.join(HERE, 'dist', name), 'utf8'), /\b_token\b|@internal/);
  }

  const modules = path.join(place, 'node_modules');
  mkdirSync(path.join(modules, 'taskhold'), { recursive: true });
  const tarball = path.join(place, packed.filename);
  execFileSync('tar', ['-xzf', tarball, '--strip-components=1', '-C', path.join(modules, 'taskhold')]);
  for (const name of readdirSync(path.join(HERE, 'node_modules'))) {
    if (!name.startsWith('.')) symlinkSync(path.join(HERE, 'node_modules', name), path.join(modules, name));
  }
  const consumers = readdirSync(path.join(HERE, 'tests/consumer'));
  for (const name of consumers) copyFileSync(path.join(HERE, 'tests/consumer', name), path.join(place, name));
  writeFileSync(path.join(place, 'package.json'), '{}');
  const compilerOptions = {
    ...{ strict: true, module: 'nodenext', target: 'ES2022', lib: ['ES2022', 'ESNext.Disposable'], types: ['node'] },
    ...{ exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
  };
  // The types of the SDKs need not pass all of this, those of the package do.
  const alone = consumers.filter(name => /^(esm|cjs)\./.test(name));
  for (const [files, skipLibCheck] of [
    [alone, false],
    [consumers.filter(name => !alone.includes(name)), true],
  ] as const) {
    const options = { compilerOptions: { ...compilerOptions, skipLibCheck }, files };
    writeFileSync(path.join(place, 'tsconfig.json'), JSON.stringify(options));
    run(process.execPath, place, path.join(HERE, 'node_modules/typescript/bin/tsc'), '-p', place);
  }
  for (const version of ['node20', 'node22']) {
    for (const name of consumers) {
      const program = path.join(place, name.replace(/ts$/, 'js'));
      const ran = run(path.join(HERE, 'node_modules', version, 'bin/node'), place, program);
      assert.equal(ran, `${path.parse(name).name}\n`);
    }
  }
});
