import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, readlink, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { systemClock } from '../host/clock.ts';
import type { Files } from '../host/files.ts';
import { nodeFiles } from '../host/files-node.ts';
import { nodeOwnedFiles } from '../host/owned-files.ts';
import { systemRandom } from '../host/random.ts';
import { AtomicWriter } from './atomic-writer.ts';
import type { Payload } from './payload.ts';

const payload = (files: Record<string, string>, mode = 0o644): Payload =>
  new Map(Object.entries(files).map(([path, text]) => [path, { data: Buffer.from(text), mode }]));

describe('AtomicWriter', () => {
  let dir: string;
  const sleeps: number[] = [];
  const clock = { ...systemClock, now: () => Date.UTC(2026, 10, 30, 12, 9, 13), sleep: async (ms: number) => void sleeps.push(ms) };
  const writerWith = (files: Files) => new AtomicWriter({ files, owned: nodeOwnedFiles, clock, random: systemRandom });
  const writer = writerWith(nodeFiles);

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'kts-writer-'));
    sleeps.length = 0;
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  const versions = async () => (await readdir(dir)).filter((name) => /^\.\.\d/.test(name));

  it('lays files out as the real kubelet does', async () => {
    assert.equal(await writer.write(dir, payload({ a: '1', 'sub/deep/b': '2' }, 0o440)), true);
    const version = await readlink(join(dir, '..data'));
    assert.match(version, /^\.\.2026_11_30_12_09_13\.\d+$/);
    assert.deepEqual((await readdir(dir)).sort(), ['..data', version, 'a', 'sub'].sort());
    assert.equal(await readlink(join(dir, 'a')), '..data/a');
    assert.equal(await readlink(join(dir, 'sub')), '..data/sub');
    assert.equal(await readFile(join(dir, 'sub/deep/b'), 'utf8'), '2');
    assert.equal((await stat(join(dir, 'a'))).mode & 0o7777, 0o440);
    assert.equal((await stat(join(dir, version))).mode & 0o7777, 0o755);
  });

  it('writes nothing when nothing changed, and everything when one byte did', async () => {
    await writer.write(dir, payload({ a: '1', b: '2' }));
    const version = await readlink(join(dir, '..data'));
    const { mtimeMs } = await stat(dir);
    assert.equal(await writer.write(dir, payload({ b: '2', a: '1' })), false);
    assert.equal(await readlink(join(dir, '..data')), version);
    assert.equal((await stat(dir)).mtimeMs, mtimeMs);
    for (const next of [{ a: '1', b: '3' }, { a: '1', b: '33' }, { a: '1', b: '' }, { a: '1' }, {}, { __proto: 'x', b: '1' }]) {
      assert.equal(await writer.write(dir, payload(next as Record<string, string>)), true, JSON.stringify(next));
      assert.deepEqual((await readdir(dir)).filter((name) => !name.startsWith('..')).sort(), Object.keys(next).sort());
    }
    assert.equal((await versions()).length, 1);
  });

  it('keeps the old version for readers that are on their way into it', async () => {
    await writer.write(dir, payload({ a: '1' }));
    assert.deepEqual(sleeps, []);
    await writer.write(dir, payload({ a: '2' }));
    assert.deepEqual(sleeps, [100]);
  });

  it('finishes what a crash left: at any call', async () => {
    await writer.write(dir, payload({ a: '1', gone: '1' }));
    for (let calls = 0; ; calls++) {
      let left = calls;
      const dying = new Proxy(nodeFiles, {
        get: (target, name: keyof Files) => (left-- <= 0 ? () => Promise.reject(new Error('died')) : target[name]),
      });
      const next = payload({ a: `v${calls}`, 'n/b': 'x' });
      const died = await writerWith(dying)
        .write(dir, next)
        .then(
          () => false,
          () => true,
        );
      // Whatever happened: a reader sees one whole version.
      assert.ok((await readFile(join(dir, 'a'), 'utf8')).length > 0);
      await writer.write(dir, next);
      assert.equal(await readFile(join(dir, 'a'), 'utf8'), `v${calls}`);
      assert.equal((await versions()).length, 1);
      assert.deepEqual((await readdir(dir)).filter((name) => !name.startsWith('..')).sort(), ['a', 'n']);
      if (!died) break;
      assert.ok(calls < 50);
    }
  });

  it('goes on with what the Go kubelet left, and leaves alone what is not its own', async () => {
    await mkdir(join(dir, '..2026_11_30_12_00_00.123456789'));
    await writeFile(join(dir, '..2026_11_30_12_00_00.123456789/a'), '1');
    await symlink('..2026_11_30_12_00_00.123456789', join(dir, '..data'));
    await symlink('..data/a', join(dir, 'a'));
    await symlink('elsewhere', join(dir, 'foreign'));
    await mkdir(join(dir, 'nested'));
    assert.equal(await writer.write(dir, payload({ a: '1' })), false);
    assert.equal(await writer.write(dir, payload({ a: '2' })), true);
    assert.deepEqual(
      (await readdir(dir)).filter((name) => !name.startsWith('..')),
      ['a', 'foreign', 'nested'],
    );
  });

  it('is not led out by links that somebody else put there', async () => {
    const victim = join(dir, '..', `victim-${process.pid}-${systemRandom.hex(4)}`);
    await mkdir(victim);
    await writeFile(join(victim, 'a'), 'kept');
    try {
      await symlink(victim, join(dir, '..data'));
      await symlink(join(victim, 'a'), join(dir, 'a'));
      await symlink(victim, join(dir, '..data_tmp'));
      await symlink(victim, join(dir, '..2026_11_30_12_00_00.1'));
      await writer.write(dir, payload({ a: 'new' }));
      assert.equal(await readFile(join(dir, 'a'), 'utf8'), 'new');
      // A version that is swapped for a link is none.
      const version = await readlink(join(dir, '..data'));
      await rename(join(dir, version), join(dir, 'aside'));
      await symlink(victim, join(dir, version));
      assert.equal(await writer.write(dir, payload({ a: 'new' })), true);
      assert.deepEqual([await readdir(victim), await readFile(join(victim, 'a'), 'utf8')], [['a'], 'kept']);
    } finally {
      await rm(victim, { recursive: true });
    }
  });

  it('refuses a payload that is unsafe before it touches the disk', async () => {
    for (const key of ['../x', '..data', 'x'.repeat(300), '/abs', '']) {
      await assert.rejects(writer.write(dir, payload({ good: '1', [key]: '2' })), /invalid path/);
    }
    assert.deepEqual(await readdir(dir), []);
  });

  it('says so when a directory has the name of a file', async () => {
    await mkdir(join(dir, 'a'));
    await assert.rejects(writer.write(dir, payload({ a: '1' })), /"a" cannot be shown: there is a directory of that name/);
  });
});
