import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { systemClock } from '../host/clock.ts';
import { silentLogger } from '../observe/log.ts';
import { ManifestDir } from './manifest-dir.ts';
import type { PodSet } from './types.ts';

const pod = (name: string) => `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec:\n  containers:\n  - {name: c, image: x}\n`;

/** A hang must fail the test and not the suite. */
const options = { timeout: 10_000 };

describe('a manifest directory on disk', () => {
  let base = '';
  let path = '';
  let abort = new AbortController();
  let sets: AsyncGenerator<PodSet> | undefined;

  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'manifests-'));
    path = join(base, 'manifests');
    abort = new AbortController();
  });
  afterEach(async () => {
    abort.abort();
    await sets?.return(undefined);
    await rm(base, { recursive: true });
  });

  /** A relist every hour: only the watch can tell of a change. */
  function open(at = path, fileCheckFrequencyMs = 3_600_000): ManifestDir {
    const dir = new ManifestDir({ path: at, nodeName: 'n', fileCheckFrequencyMs, clock: systemClock, log: silentLogger });
    sets = dir.sets(abort.signal);
    return dir;
  }
  /** The first set that `wanted` accepts: on the way there may be others, as of a file that is half written. */
  async function until(wanted: (set: PodSet) => boolean): Promise<PodSet> {
    for (;;) {
      const { value, done } = (await sets?.next()) ?? { done: true };
      if (done || !value) throw new Error('the source ended');
      if (wanted(value)) return value;
    }
  }
  const pods = (...names: string[]) =>
    until((set) => set.pods.map(({ metadata }) => metadata.name).join() === names.map((name) => `${name}-n`).join());

  it('tells of a file that is created, replaced, changed, half written, removed', options, async () => {
    await mkdir(path);
    await writeFile(join(path, 'a.yaml'), pod('a'));
    open();
    await pods('a');
    await writeFile(join(base, 'b.tmp'), pod('b'));
    await rename(join(base, 'b.tmp'), join(path, 'b.yaml'));
    await pods('a', 'b');
    await writeFile(join(base, 'b.tmp'), pod('b2'));
    await rename(join(base, 'b.tmp'), join(path, 'b.yaml'));
    await pods('a', 'b2');
    await writeFile(join(path, 'a.yaml'), pod('a').slice(0, 60));
    const half = await pods('b2');
    assert.equal(half.errors.length, 1);
    await writeFile(join(path, 'a.yaml'), pod('a3'));
    assert.deepEqual((await pods('a3', 'b2')).errors, []);
    await rm(join(path, 'a.yaml'));
    await pods('b2');
  });

  it(
    'a file removed and written again at once: its pod goes, then comes; renamed over it with the same words: nothing',
    options,
    async () => {
      await mkdir(path);
      await writeFile(join(path, 'a.yaml'), pod('a'));
      await writeFile(join(path, 'b.yaml'), pod('b'));
      open();
      await pods('a', 'b');
      await rm(join(path, 'a.yaml'));
      await writeFile(join(path, 'a.yaml'), pod('a'));
      await pods('b');
      await pods('a', 'b');
      await writeFile(join(base, 'b.tmp'), pod('b'));
      await rename(join(base, 'b.tmp'), join(path, 'b.yaml'));
      await rm(join(path, 'a.yaml'));
      await pods('b');
    },
  );

  it('a path that comes later, goes, and is replaced by another directory', options, async () => {
    const dir = open(join(base, 'deep/er/manifests'));
    path = join(base, 'deep/er/manifests');
    await pods();
    await mkdir(path, { recursive: true });
    await writeFile(join(path, 'a.yaml'), pod('a'));
    await pods('a');
    await mkdir(join(base, 'next'));
    await writeFile(join(base, 'next/z.yaml'), pod('z'));
    await rename(path, join(base, 'old'));
    await rename(join(base, 'next'), path);
    await pods('z');
    await writeFile(join(path, 'y.yaml'), pod('x'));
    await pods('x', 'z');
    await rm(path, { recursive: true });
    await pods();
    assert.deepEqual(dir.listing().pods, []);
  });

  it('a directory behind a link that is moved to another one', options, async () => {
    await mkdir(join(base, 'v1'));
    await mkdir(join(base, 'v2'));
    await writeFile(join(base, 'v1/a.yaml'), pod('a'));
    await writeFile(join(base, 'v2/b.yaml'), pod('b'));
    await symlink('v1', path);
    open();
    await pods('a');
    await symlink('v2', join(base, 'link.tmp'));
    await rename(join(base, 'link.tmp'), path);
    await pods('b');
    await writeFile(join(base, 'v2/c.yaml'), pod('c'));
    await pods('b', 'c');
  });

  it('what no watch tells is found by looking again', options, async () => {
    await mkdir(path);
    await writeFile(join(base, 'real.yaml'), pod('a'));
    await symlink('../real.yaml', join(path, 'a.yaml'));
    open(path, 20);
    await pods('a');
    await writeFile(join(base, 'real.yaml'), pod('b'));
    await pods('b');
  });

  it('whatever lies there, the good one starts and nothing hangs', options, async () => {
    await mkdir(join(path, 'folder'), { recursive: true });
    await writeFile(join(path, 'empty.yaml'), '');
    await writeFile(join(path, 'binary.yaml'), Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 0xff]));
    await writeFile(join(path, 'large.yaml'), Buffer.alloc(11 << 20, 0x20));
    await writeFile(join(path, 'good.yaml'), pod('good'));
    await writeFile(join(path, 'secret.yaml'), `${pod('s')}  imagePullSecrets: [{name: s}]\n`);
    await symlink('loop.yaml', join(path, 'loop.yaml'));
    await symlink('nothing', join(path, 'dangling.yaml'));
    execFileSync('mkfifo', [join(path, 'fifo.yaml')]);
    open();
    const set = await pods('good');
    assert.deepEqual(Object.fromEntries(set.errors.map(({ file, code }) => [file.slice(path.length + 1), code])), {
      'binary.yaml': 'syntax',
      'dangling.yaml': 'unreadable',
      'empty.yaml': 'wrong-kind',
      'fifo.yaml': 'not-a-file',
      folder: 'not-a-file',
      'large.yaml': 'too-large',
      'loop.yaml': 'unreadable',
      'secret.yaml': 'forbidden',
    });
  });

  it('a single file: its pod; and once it is bad, the pod of before', options, async () => {
    await writeFile(path, pod('a'));
    const dir = open();
    await pods('a');
    await writeFile(path, 'a: [');
    const bad = await until((set) => set.errors[0]?.code === 'syntax');
    assert.equal(bad.pods.length, 1);
    assert.equal(dir.listing().errors.length, 1);
    await rm(path);
    await pods();
  });
});
