import assert from 'node:assert/strict';
import test from 'node:test';
import { layerFaults } from './layers.ts';
import { importsOf, read, typescriptFiles } from './sourceFiles.ts';

const sources = typescriptFiles('src').filter((p) => !p.endsWith('.test.ts'));

test('the rooms of src/ import from earlier layers only', () => {
  assert.ok(sources.length > 0);
  assert.deepEqual(
    sources.flatMap((path) => layerFaults(path, read(path))),
    [],
  );
});

test('the rule sees every form of import', () => {
  const text = `
    import type { A } from '../pods/a.ts';
    import { type B,
      C } from "../server/c.ts";
    export * from '../cli/d.ts';
    import '../node/e.ts';
    const f = await import('../sync/f.ts');
    import fs from 'node:fs';
    import { g } from '../config/g.ts';`;
  assert.deepEqual(importsOf(text), [
    '../pods/a.ts',
    '../server/c.ts',
    '../cli/d.ts',
    '../node/e.ts',
    '../sync/f.ts',
    'node:fs',
    '../config/g.ts',
  ]);
  const faults = layerFaults('src/cri/x.ts', text);
  assert.equal(faults.length, 5);
  assert.ok(faults.every((f) => f.includes('a later layer')));
  assert.deepEqual(layerFaults('src/sync/x.ts', "import { a } from '../pleg/types.ts'; import b from '../api/b.ts';"), []);
  assert.deepEqual(layerFaults('src/sync/x.ts', "import { a } from '../status/a.ts';"), [
    'src/sync/x.ts: imports src/status/a.ts, a room of its own layer',
  ]);
  assert.equal(layerFaults('src/sync/x.ts', "import { a } from '../../test/sim/a.ts';").length, 1);
  assert.equal(layerFaults('src/attic/x.ts', '').length, 1);
});
