import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { link, mkdir, mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { diskUsage } from './disk-usage.ts';

describe('diskUsage', () => {
  let dir: string;
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'kts-usage-'));
    await mkdir(join(dir, 'a/b'), { recursive: true });
    await writeFile(join(dir, 'a/b/full'), Buffer.alloc(100_000, 1));
    await writeFile(join(dir, 'sparse'), 'x');
    await truncate(join(dir, 'sparse'), 50_000_000);
    await link(join(dir, 'a/b/full'), join(dir, 'again'));
    await symlink('/', join(dir, 'root'));
  });
  after(() => rm(dir, { recursive: true }));

  it('counts what du counts: blocks, a file of two names once, no link followed', () => {
    const [bytes] = execFileSync('du', ['-sx', '--block-size=1', dir], { encoding: 'utf8' }).split('\t');
    const [inodes] = execFileSync('du', ['-sx', '--inodes', dir], { encoding: 'utf8' }).split('\t');
    assert.deepEqual(diskUsage(dir, 10_000), { bytes: Number(bytes), inodes: Number(inodes), isPartial: false });
    assert.equal(Number(inodes), 6);
  });

  it('ends when its time is over, and says so', async () => {
    const many = join(dir, 'many');
    await mkdir(many);
    for (let i = 0; i < 200; i++) await writeFile(join(many, String(i)), '');
    let now = 0;
    const usage = diskUsage(many, 10, () => (now += 6));
    assert.ok(usage?.isPartial && usage.inodes < 200);
  });

  it('tells that there is no directory', () => {
    assert.equal(diskUsage(join(dir, 'none'), 1000), undefined);
    assert.equal(diskUsage(join(dir, 'sparse'), 1000), undefined);
    assert.equal(diskUsage(join(dir, 'root'), 1000), undefined);
  });
});
