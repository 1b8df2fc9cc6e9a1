import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, readlink, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Pod } from '../../src/api/types.ts';
import { nodeMounts } from '../../src/host/mounts.ts';
import type { PersistentVolumeSpec } from '../../src/kube/types.ts';
import { loopFiles } from '../support/csi/backing.ts';
import { podWith, type VolumesBed, volumesBed } from '../support/volumes.ts';

const { signal } = new AbortController();

describe('claims on the real kernel', () => {
  let bed: VolumesBed;
  before(async () => {
    bed = await volumesBed();
  });
  after(() => bed.remove());

  /** A claim of that name, bound to a PersistentVolume `pv-{name}`. */
  function bound(name: string, spec: Partial<PersistentVolumeSpec>, annotations: Record<string, string> = {}): void {
    bed.objects.claims.set(`default/${name}`, {
      metadata: { name, uid: `uid-${name}` },
      spec: { volumeName: `pv-${name}` },
      status: { phase: 'Bound' },
    });
    bed.objects.persistentVolumes.set(`pv-${name}`, {
      metadata: { name: `pv-${name}`, annotations },
      spec: { claimRef: { uid: `uid-${name}` }, accessModes: ['ReadWriteOnce'], ...spec },
    });
  }
  const claimed = (uid: string, claimName: string, more: Partial<Pod['spec']> = {}) =>
    podWith(uid, [{ name: 'data', persistentVolumeClaim: { claimName } }], undefined, more);
  const dirOf = (uid: string, pv: string) => join(bed.podsDir, uid, 'volumes/kubernetes.io~local-volume', pv);
  const refused = (pod: Pod, text: RegExp) => assert.rejects(bed.mountOnce(pod), text);
  const loops = () => loopFiles().filter((file) => file.startsWith(bed.root));

  it('binds a local directory for two pods, gives it to their group once, and keeps what is in it', async () => {
    const path = join(bed.root, 'local-dir');
    await mkdir(path);
    await writeFile(join(path, 'old'), 'kept', { mode: 0o600 });
    bound('dir', { local: { path } }, { 'pv.beta.kubernetes.io/gid': '4321' });
    const one = claimed('one', 'dir', { securityContext: { fsGroup: 1234, fsGroupChangePolicy: 'OnRootMismatch' } });
    const two = claimed('two', 'dir', { securityContext: { fsGroup: 1234, fsGroupChangePolicy: 'OnRootMismatch' } });
    await bed.manager.mount(one, signal);
    await bed.manager.mount(two, signal);
    const { gid, mode } = await stat(join(dirOf('one', 'pv-dir'), 'old'));
    assert.deepEqual([gid, mode & 0o777], [1234, 0o660]);
    assert.deepEqual(bed.manager.groupsOf(one), [4321]);
    const [container] = one.spec.containers;
    assert.ok(container);
    const [mount] = await bed.manager.mountsOf(one, container, []);
    assert.equal(mount?.hostPath, dirOf('one', 'pv-dir'));
    const [usage] = await bed.manager.usageOf(one);
    assert.deepEqual(
      [usage?.volume, usage?.claim, usage?.plugin],
      ['data', { namespace: 'default', name: 'dir' }, 'kubernetes.io/local-volume'],
    );
    // As after a restart of the agent, in the middle of two pods.
    await bed.restarted().unmount(one, signal);
    assert.deepEqual(
      (await nodeMounts.below(bed.root)).map((m) => m.mountPoint),
      [dirOf('two', 'pv-dir')],
    );
    await bed.restarted().unmount(two, signal);
    assert.equal(await readFile(join(path, 'old'), 'utf8'), 'kept');
    assert.deepEqual(await nodeMounts.below(bed.root), []);
  });

  it('is read-only where the claim is used so', async () => {
    const path = join(bed.root, 'local-ro');
    await mkdir(path);
    bound('ro', { local: { path } });
    const pod = podWith('reader', [{ name: 'data', persistentVolumeClaim: { claimName: 'ro', readOnly: true } }]);
    await bed.manager.mount(pod, signal);
    await assert.rejects(writeFile(join(dirOf('reader', 'pv-ro'), 'x'), ''), /EROFS/);
    await bed.manager.unmount(pod, signal);
  });

  it('formats a disk, shares its one mount among pods, and frees all when the last is gone', async () => {
    const disk = join(bed.root, 'disk.img');
    await writeFile(disk, '');
    await truncate(disk, 16 * 1024 * 1024);
    const device = execFileSync('losetup', ['--find', '--show', disk], { encoding: 'utf8' }).trim();
    try {
      bound('disk', { local: { path: device, fsType: 'ext4' } });
      const [one, two] = [claimed('disk-one', 'disk'), claimed('disk-two', 'disk')];
      await bed.manager.mount(one, signal);
      await writeFile(join(dirOf('disk-one', 'pv-disk'), 'f'), 'shared');
      await bed.manager.mount(two, signal);
      assert.equal(await readFile(join(dirOf('disk-two', 'pv-disk'), 'f'), 'utf8'), 'shared');
      const place = join(bed.root, 'plugins/kubernetes.io/local-volume/mounts/pv-disk');
      assert.deepEqual(
        (await nodeMounts.below(bed.root)).map((m) => m.mountPoint).sort(),
        [place, dirOf('disk-one', 'pv-disk'), dirOf('disk-two', 'pv-disk')].sort(),
      );
      await bed.manager.unmount(one, signal);
      assert.equal(await readFile(join(dirOf('disk-two', 'pv-disk'), 'f'), 'utf8'), 'shared');
      await bed.manager.unmount(two, signal);
      assert.deepEqual(await nodeMounts.below(bed.root), []);
      // Once more: the file system is found, not made again.
      await bed.restarted().mount(one, signal);
      assert.equal(await readFile(join(dirOf('disk-one', 'pv-disk'), 'f'), 'utf8'), 'shared');
      await bed.restarted().unmount(one, signal);
    } finally {
      execFileSync('losetup', ['--detach', device]);
    }
  });

  it('shows a file as a block device, and frees the loop device with the last pod', async () => {
    const path = join(bed.root, 'block.img');
    await writeFile(path, '');
    await truncate(path, 1024 * 1024);
    bound('block', { local: { path }, volumeMode: 'Block' });
    const podOf = (uid: string): Pod => {
      const pod = claimed(uid, 'block');
      pod.spec.containers = [{ name: 'c', image: 'i', volumeDevices: [{ name: 'data', devicePath: '/dev/data' }] }];
      return pod;
    };
    const [one, two] = [podOf('block-one'), podOf('block-two')];
    await bed.manager.mount(one, signal);
    await bed.manager.mount(two, signal);
    const link = join(bed.podsDir, 'block-one/volumeDevices/kubernetes.io~local-volume/pv-block');
    assert.match(await readlink(link), /^\/dev\/loop\d+$/);
    const [container] = one.spec.containers;
    assert.ok(container);
    assert.deepEqual(await bed.manager.devicesOf(one, container), [{ hostPath: link, containerPath: '/dev/data', permissions: 'mrw' }]);
    assert.equal(loops().length, 1);
    await bed.restarted().unmount(one, signal);
    assert.equal(loops().length, 1);
    await bed.restarted().unmount(two, signal);
    assert.deepEqual(loops(), []);
  });

  it('refuses what cannot be used here, with the reason', async () => {
    const path = join(bed.root, 'refused');
    await mkdir(path);
    const elsewhere = {
      required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['other'] }] }] },
    };
    bound('far', { local: { path }, nodeAffinity: elsewhere });
    await refused(claimed('far', 'far'), /^Error: MountVolume.SetUp failed for volume "data" : no matching NodeSelectorTerms$/);
    bound('options', { hostPath: { path }, mountOptions: ['hard'] });
    await refused(claimed('options', 'options'), /Mount options are not supported for this volume type/);
    bound('gone', { local: { path: join(bed.root, 'gone') } });
    await refused(claimed('gone', 'gone'), /path ".*gone" does not exist/);
    bound('cinder', { cinder: { volumeID: 'x' } });
    await refused(claimed('cinder', 'cinder'), /no volume plug-in for cinder/);
    const unbound = bed.manager.mount(claimed('unbound', 'unbound'), signal);
    const message =
      /^Unable to attach or mount volumes: unmounted volumes=\[data\], unattached volumes=\[\], failed to process volumes=\[data\]: error processing PVC default\/unbound: failed to fetch PVC from API server/;
    await assert.rejects(unbound, { message });
    for (const uid of ['far', 'options', 'gone', 'cinder']) await bed.manager.unmount(claimed(uid, uid), signal);
  });

  it('lets one pod at a time use a volume that is for one, also after a restart', async () => {
    const path = join(bed.root, 'single');
    await mkdir(path);
    bound('single', { local: { path }, accessModes: ['ReadWriteOncePod'] });
    const first = claimed('first', 'single');
    await bed.manager.mount(first, signal);
    // What is on disk tells a new agent who has it, before its pod is looked at.
    await refused(claimed('second', 'single'), /ReadWriteOncePod access mode and is already in use by another pod/);
    await bed.manager.unmount(first, signal);
    await bed.restarted().mount(claimed('second', 'single'), signal);
    await bed.restarted().unmount(claimed('second', 'single'), signal);
    assert.deepEqual(await readdir(path), []);
  });
});
