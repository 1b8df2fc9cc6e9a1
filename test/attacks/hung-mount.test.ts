import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../../src/host/clock.ts';
import { FileThreads } from '../../src/host/file-threads/file-threads.ts';
import { nodeMounts } from '../../src/host/mounts.ts';
import { attack } from '../support/attack.ts';
import { type HungMount, hungMount, noFuse } from '../support/hung-mount.ts';
import { podWith, volumesBed } from '../support/volumes.ts';

const { signal } = new AbortController();
/** What a pod beside them may take, on a busy machine. */
const SoonMs = 5_000;

attack('mounts that hang hold up their own pods only', { tries: 6, skip: noFuse() }, async (bout) => {
  const slowFiles = new FileThreads(systemClock);
  const bed = await volumesBed({ slowFiles });
  const hung: HungMount[] = [];
  try {
    // More of them than Node has threads for files: as paths of the host, as sub paths, and left in volumes.
    const stops: AbortController[] = [];
    const waits: Promise<unknown>[] = [];
    const left: ReturnType<typeof podWith>[] = [];
    for (let i = 0; i < bout.tries; i++) {
      const path = join(bed.root, `hung-${i}`);
      await mkdir(path);
      hung.push(await hungMount(path));
      const stop = new AbortController();
      stops.push(stop);
      const typed = podWith(`typed-${i}`, [{ name: 'h', hostPath: { path: join(path, 'x'), type: 'Directory' } }]);
      waits.push(bed.manager.mount(typed, stop.signal).catch(() => {}));
      const volumes = [{ name: 'h', hostPath: { path } }];
      const sub = podWith(`sub-${i}`, volumes, [{ name: 'h', mountPath: '/m', subPath: 'a/b' }]);
      await bed.manager.mount(sub, signal);
      const [container] = sub.spec.containers;
      assert.ok(container);
      waits.push(bed.manager.mountsOf(sub, container, []).catch(() => {}));
      const owner = podWith(`owner-${i}`, [{ name: 'disk', emptyDir: {} }]);
      await bed.manager.mount(owner, signal);
      const inner = join(bed.podsDir, `owner-${i}/volumes/kubernetes.io~empty-dir/disk/inner`);
      await mkdir(inner);
      hung.push(await hungMount(inner));
      left.push(owner);
    }
    // Everything that the agent does for other pods goes on.
    const began = performance.now();
    bed.objects.secrets.set('default/s', { data: new Map([['k', Buffer.from('v')]]) });
    const well = podWith('well', [
      { name: 'disk', emptyDir: {} },
      { name: 'secret', secret: { secretName: 's' } },
    ]);
    await bed.manager.mount(well, signal);
    await writeFile(join(bed.podsDir, 'well/volumes/kubernetes.io~empty-dir/disk/f'), 'x');
    assert.equal(await readFile(join(bed.podsDir, 'well/volumes/kubernetes.io~secret/secret/k'), 'utf8'), 'v');
    await bed.manager.unmount(well, signal);
    const tookMs = performance.now() - began;
    for (const owner of left) {
      const before = performance.now();
      const usages = await bed.manager.usageOf(owner);
      await bed.manager.unmount(owner, signal);
      assert.equal(usages.length, 1, 'the volume is measured without what is mounted in it');
      if (performance.now() - before < SoonMs) bout.harmless('went on');
      else bout.escape('the tear-down of a pod waited for a mount that hangs');
    }
    if (tookMs < SoonMs) bout.harmless('went on');
    else bout.escape(`another pod took ${Math.round(tookMs)} ms`);
    for (const stop of stops) stop.abort(new Error('over'));
    for (const mount of hung) mount.release();
    await Promise.all(waits);
  } finally {
    for (const mount of hung) mount.release();
    for (const { mountPoint } of await nodeMounts.below(bed.root)) await nodeMounts.unmount(mountPoint, { lazy: true }).catch(() => {});
    await bed.remove();
  }
});
