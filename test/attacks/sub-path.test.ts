import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodeFiles } from '../../src/host/files-node.ts';
import { nodeMounts } from '../../src/host/mounts.ts';
import { nodeOwnedFiles } from '../../src/host/owned-files.ts';
import { bindSubPath } from '../../src/volumes/sub-paths.ts';
import { attack } from '../support/attack.ts';
import { volumesBed } from '../support/volumes.ts';

const deps = { files: nodeFiles, owned: nodeOwnedFiles, mounts: nodeMounts, mounter: nodeMounts };

attack('subPath: a link is swapped in while the path is walked and mounted', { tries: 10_000, shortTries: 500 }, async (bout) => {
  const bed = await volumesBed();
  const volume = join(bed.root, 'swapped');
  const outside = join(bed.root, 'victim');
  for (const [dir, mark] of [
    [join(volume, 'a/sub'), 'inside'],
    [join(outside, 'sub'), 'outside'],
  ] as const) {
    await mkdir(dir, { recursive: true });
    await writeFile(join(dir, 'mark'), mark);
    await writeFile(join(dirname(dir), 'mark'), mark);
  }
  const program = fileURLToPath(new URL('../support/link-swapper.ts', import.meta.url));
  const swapper = spawn(process.execPath, [program, join(volume, 'a'), outside, '../victim'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const target = join(bed.podsDir, 'swap/volume-subpaths/disk/c/0');
  try {
    await once(swapper.stdout, 'data');
    for (let i = 0; i < bout.tries; i++) {
      const subPath = ['a', 'a/sub', `a/new${i}`][i % 3] ?? '';
      try {
        await bindSubPath(deps, { root: volume, followRoot: false, subPath, target });
      } catch {
        bout.harmless('refused');
        continue;
      }
      const mark = await readFile(join(target, 'mark'), 'utf8').catch(() => 'inside');
      if (mark === 'outside') bout.escape(`${subPath} showed a file of the host`);
      else bout.harmless('mounted');
    }
    assert.ok(bout.count('mounted') > 0 && bout.count('refused') > 0, 'the race must go both ways to show anything');
    assert.deepEqual((await readdir(outside)).sort(), ['mark', 'sub'], 'something was made outside of the volume');
    assert.equal(swapper.exitCode, null, 'the swapper ended before the tries');
  } finally {
    swapper.kill('SIGKILL');
    if (swapper.exitCode === null && swapper.signalCode === null) await once(swapper, 'exit');
    await bed.remove();
  }
});
