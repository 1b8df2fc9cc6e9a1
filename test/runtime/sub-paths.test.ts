import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Pod, VolumeMount } from '../../src/api/types.ts';
import { nodeMounts } from '../../src/host/mounts.ts';
import { podWith, type VolumesBed, volumesBed } from '../support/volumes.ts';

const { signal } = new AbortController();

describe('sub paths on the real kernel', () => {
  let bed: VolumesBed;
  before(async () => {
    bed = await volumesBed();
  });
  after(() => bed.remove());

  const diskOf = (pod: Pod) => join(bed.podsDir, pod.metadata.uid, 'volumes/kubernetes.io~empty-dir/disk');
  function podAt(uid: string, ...mounts: Partial<VolumeMount>[]): Pod {
    const volumes = [
      { name: 'disk', emptyDir: {} },
      { name: 'conf', configMap: { name: 'conf' } },
    ];
    return podWith(
      uid,
      volumes,
      mounts.map((mount, i) => ({ name: 'disk', mountPath: `/m${i}`, ...mount })),
    );
  }
  const bind = async (pod: Pod, env: { name: string; value: string }[] = []) => {
    await bed.manager.mount(pod, signal);
    const [container] = pod.spec.containers;
    assert.ok(container);
    return (await bed.manager.mountsOf(pod, container, env)).map((mount) => mount.hostPath);
  };

  it('binds directories, files and what is missing, and keeps them when the container starts again', async () => {
    bed.objects.configMaps.set('default/conf', { data: new Map([['k', 'v1']]) });
    const pod = podAt('binds', { subPath: 'a/b' }, { subPathExpr: '$(NAME)/x' }, { name: 'conf', subPath: 'k' }, { subPath: '.' });
    const env = [{ name: 'NAME', value: 'me' }];
    const paths = await bind(pod, env);
    const at = (index: number, volume: string) => join(bed.podsDir, `binds/volume-subpaths/${volume}/c/${index}`);
    assert.deepEqual(paths, [at(0, 'disk'), at(1, 'disk'), at(2, 'conf'), at(3, 'disk')]);
    assert.equal((await stat(join(diskOf(pod), 'a/b'))).mode & 0o7777, 0o777);
    await writeFile(join(paths[0] ?? '', 'f'), 'seen');
    assert.equal(await readFile(join(diskOf(pod), 'a/b/f'), 'utf8'), 'seen');
    assert.equal(await readFile(paths[2] ?? '', 'utf8'), 'v1');
    assert.deepEqual((await readdir(paths[3] ?? '')).sort(), ['a', 'me']);

    const before = await nodeMounts.below(bed.root);
    assert.deepEqual(await bind(pod, env), paths);
    assert.deepEqual(await nodeMounts.below(bed.root), before);

    // A new container sees the new file; the mount of the old one goes.
    bed.objects.configMaps.set('default/conf', { data: new Map([['k', 'v2']]) });
    await bind(pod, env);
    assert.equal(await readFile(paths[2] ?? '', 'utf8'), 'v2');
    assert.equal((await nodeMounts.below(bed.root)).length, before.length);

    await bed.restarted().unmount(pod, signal);
    assert.deepEqual(await nodeMounts.below(bed.root), []);
    await assert.rejects(stat(join(bed.podsDir, 'binds/volume-subpaths')), /ENOENT/);
  });

  it('follows links that stay in the volume', async () => {
    const pod = podAt('links', { subPath: 'l1/f' });
    await bed.manager.mount(pod, signal);
    await mkdir(join(diskOf(pod), 'deep/er'), { recursive: true });
    await writeFile(join(diskOf(pod), 'deep/f'), 'here');
    await symlink('deep/er/../l2', join(diskOf(pod), 'l1'));
    await symlink('./er/..', join(diskOf(pod), 'deep/l2'));
    const [path] = await bind(pod);
    assert.equal(await readFile(path ?? '', 'utf8'), 'here');
    await bed.manager.unmount(pod, signal);
  });

  it('refuses what leads out of the volume, and makes nothing there', async () => {
    const outside = join(bed.root, 'outside');
    await mkdir(outside);
    const pod = podAt('out', {});
    await bed.manager.mount(pod, signal);
    const disk = diskOf(pod);
    await symlink(outside, join(disk, 'absolute'));
    await symlink('../../../../../outside', join(disk, 'relative'));
    await symlink('loop', join(disk, 'loop'));
    await symlink('/proc/1/root', join(disk, 'proc'));
    await writeFile(join(disk, 'file'), '');
    for (const subPath of ['absolute', 'absolute/new', 'relative', 'relative/new', 'loop', 'proc/etc', 'file/x']) {
      await assert.rejects(
        bind(podAt('out', { subPath })),
        /^VolumeError: failed to prepare subPath for volumeMount "disk" of container "c"$/,
        subPath,
      );
    }
    for (const [mount, text] of [
      [{ subPath: '../x' }, /must not contain '\.\.'/],
      [{ subPath: '/etc' }, /must not be an absolute path/],
      [{ subPathExpr: '$(UP)/x' }, /must not contain '\.\.'/],
      [{ subPathExpr: '$(ROOT)' }, /must not be an absolute path/],
      [{ subPathExpr: '$(NONE)' }, /missing value for NONE/],
    ] as const) {
      const env = [
        { name: 'UP', value: '..' },
        { name: 'ROOT', value: '/etc' },
      ];
      await assert.rejects(bind(podAt('out', mount), env), text);
    }
    assert.deepEqual(await readdir(outside), []);
    assert.deepEqual(await nodeMounts.below(bed.root), []);
    await bed.manager.unmount(pod, signal);
  });
});

describe('a mount that a pod has left in its volume', () => {
  let bed: VolumesBed;
  before(async () => {
    bed = await volumesBed();
  });
  after(() => bed.remove());

  it('is unmounted, and what it showed is kept', async () => {
    const pod = podWith('mounter', [{ name: 'disk', emptyDir: {} }]);
    await bed.manager.mount(pod, signal);
    const inner = join(bed.podsDir, 'mounter/volumes/kubernetes.io~empty-dir/disk/inner dir');
    const shown = join(bed.root, 'shown');
    await mkdir(inner);
    await mkdir(shown);
    await writeFile(join(shown, 'f'), '');
    await nodeMounts.mount({ source: shown, target: inner, options: ['bind'] });
    await bed.manager.unmount(pod, signal);
    assert.deepEqual(await readdir(shown), ['f']);
    await assert.rejects(stat(join(bed.podsDir, 'mounter/volumes/kubernetes.io~empty-dir')), /ENOENT/);
  });
});
