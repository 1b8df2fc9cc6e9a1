import assert from 'node:assert/strict';
import test from 'node:test';
import { kubernetesVersion, projectVersion } from '../../src/cli/version.ts';
import { read, typescriptFiles } from './sourceFiles.ts';

const LIMIT = 400;
/** Tables of pure data may be longer: path and what it holds. */
const DATA_TABLES: Readonly<Record<string, string>> = {
  'src/compat/pod-schema.ts': 'the fields of a pod in their order',
  'src/config/fields.ts': 'the fields of KubeletConfiguration',
  'src/cri/types.ts': 'the messages of CRI, types only',
};

const files = ['src', 'test', 'scripts', 'bench'].flatMap(typescriptFiles);

test(`no file is longer than ${LIMIT} lines, but for tables of data`, (t) => {
  const lengths = files.map((path) => ({ path, lines: read(path).split('\n').length - 1 })).sort((a, b) => b.lines - a.lines);
  const sorted = lengths.map((l) => l.lines).sort((a, b) => a - b);
  t.diagnostic(`${files.length} files, median ${sorted[sorted.length >> 1]} lines, longest ${lengths[0]?.path} with ${lengths[0]?.lines}`);
  assert.deepEqual(
    lengths.filter((l) => l.lines > LIMIT && !(l.path in DATA_TABLES)),
    [],
  );
  for (const path of Object.keys(DATA_TABLES)) assert.ok(files.includes(path), `${path} is listed as a table and does not exist`);
});

test('every test file asserts something and none is left focused or to do', () => {
  const faults: string[] = [];
  for (const path of files.filter((p) => p.endsWith('.test.ts'))) {
    const text = read(path);
    if (!/\b(assert|fc\.assert|expect)\b/.test(text)) faults.push(`${path}: no assertion`);
    if (path !== 'test/structure/files.test.ts' && /\b(test|it|describe|suite)\.(only|todo)\(|\bonly: true\b/.test(text))
      faults.push(`${path}: only or todo`);
  }
  assert.deepEqual(faults, []);
});

test('launcher, sources and package tell the same versions', () => {
  assert.equal(/Kubernetes (v[0-9.]+)/.exec(read('bin/kubelet-ts'))?.[1], kubernetesVersion);
  assert.equal((JSON.parse(read('package.json')) as { version: string }).version, projectVersion);
});
