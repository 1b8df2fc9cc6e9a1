import assert from 'node:assert/strict';
import { lstat, mkdir, readdir, readFile, readlink, stat, statfs, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Volume } from '../../src/api/types.ts';
import { nodeMounts } from '../../src/host/mounts.ts';
import { podWith, type VolumesBed, volumesBed } from '../support/volumes.ts';

const { signal } = new AbortController();
const TmpfsMagic = 0x01021994;
const mode = async (path: string) => ((await stat(path)).mode & 0o7777).toString(8);

describe('volumes on the real kernel', () => {
  let bed: VolumesBed;
  const dirOf = (uid: string, plugin: string, name: string) => join(bed.podsDir, uid, 'volumes', plugin, name);

  before(async () => {
    bed = await volumesBed();
  });
  after(() => bed.remove());

  it('mounts all kinds side by side, again without a change, and removes them', async () => {
    bed.objects.configMaps.set('default/conf', { data: new Map([['a.conf', 'x=1']]), binaryData: new Map([['b', Buffer.from([0, 255])]]) });
    bed.objects.secrets.set('default/key', { data: new Map([['password', Buffer.from('hidden')]]) });
    bed.objects.trustBundles.set('roots', 'PEM');
    const volumes: Volume[] = [
      { name: 'disk', emptyDir: {} },
      { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '8Mi' } },
      { name: 'conf', configMap: { name: 'conf' } },
      { name: 'key', secret: { secretName: 'key', defaultMode: 0o400 } },
      { name: 'fields', downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
      {
        name: 'all',
        projected: {
          sources: [
            { serviceAccountToken: { path: 'token' } },
            { configMap: { name: 'conf', items: [{ key: 'a.conf', path: 'etc/a', mode: 0o600 }] } },
            { secret: { name: 'none', optional: true } },
            { clusterTrustBundle: { name: 'roots', path: 'roots.pem' } },
            { clusterTrustBundle: { signerName: 'example.com/none', path: 'none.pem', optional: true } },
            { downwardAPI: { items: [{ path: 'cpu', resourceFieldRef: { containerName: 'c', resource: 'limits.cpu' } }] } },
          ],
        },
      },
      { name: 'unused', configMap: { name: 'does-not-exist' } },
    ];
    const used = volumes.filter((v) => v.name !== 'unused').map(({ name }) => ({ name, mountPath: `/${name}` }));
    const pod = podWith('all-kinds', volumes, used);
    await bed.manager.mount(pod, signal);
    const dir = (plugin: string, name: string) => dirOf('all-kinds', plugin, name);

    assert.equal(await mode(dir('kubernetes.io~empty-dir', 'disk')), '777');
    const memory = await statfs(dir('kubernetes.io~empty-dir', 'memory'));
    assert.deepEqual([memory.type, memory.blocks * memory.bsize], [TmpfsMagic, 8 * 1024 * 1024]);
    const conf = dir('kubernetes.io~configmap', 'conf');
    assert.equal(await readFile(join(conf, 'a.conf'), 'utf8'), 'x=1');
    assert.deepEqual(await readFile(join(conf, 'b')), Buffer.from([0, 255]));
    assert.equal(await readlink(join(conf, 'a.conf')), '..data/a.conf');
    const key = dir('kubernetes.io~secret', 'key');
    assert.equal((await statfs(key)).type, TmpfsMagic);
    assert.equal(await mode(join(key, 'password')), '400');
    assert.equal(await readFile(join(dir('kubernetes.io~downward-api', 'fields'), 'labels'), 'utf8'), 'app="web"');
    const all = dir('kubernetes.io~projected', 'all');
    assert.equal((await statfs(all)).type, TmpfsMagic);
    assert.deepEqual((await readdir(all)).filter((n) => !n.startsWith('..')).sort(), ['cpu', 'etc', 'none.pem', 'roots.pem', 'token']);
    assert.equal(await readFile(join(all, 'token'), 'utf8'), 'token-1');
    assert.equal(await mode(join(all, 'etc/a')), '600');
    assert.deepEqual([await readFile(join(all, 'roots.pem'), 'utf8'), await readFile(join(all, 'none.pem'), 'utf8')], ['PEM', '']);
    assert.equal(await readFile(join(all, 'cpu'), 'utf8'), '2');

    // Another instance, as after a restart: finds all there and changes nothing.
    const version = await readlink(join(all, '..data'));
    await writeFile(join(dir('kubernetes.io~empty-dir', 'disk'), 'kept'), '');
    const mounted = (await nodeMounts.below(bed.root)).length;
    await bed.restarted().mount(pod, signal);
    assert.equal(await readlink(join(all, '..data')), version);
    assert.equal((await nodeMounts.below(bed.root)).length, mounted);
    assert.ok(await lstat(join(dir('kubernetes.io~empty-dir', 'disk'), 'kept')));

    const told = await bed.manager.mountsOf(pod, pod.spec.containers[0] ?? { name: '' }, []);
    assert.deepEqual(
      told.map((m) => [m.containerPath, m.readonly]),
      used.map((m) => [m.mountPath, !['disk', 'memory'].includes(m.name)]),
    );

    await bed.restarted().unmount(podWith('all-kinds', []), signal);
    assert.deepEqual(await nodeMounts.below(bed.root), []);
    assert.deepEqual(await readdir(join(bed.podsDir, 'all-kinds', 'volumes')), []);
  });

  it('refreshes files of a pod that runs', async () => {
    bed.objects.configMaps.set('default/live', {
      data: new Map([
        ['a', '1'],
        ['b', '1'],
      ]),
    });
    const pod = podWith('live', [
      { name: 'conf', configMap: { name: 'live' } },
      { name: 'disk', emptyDir: {} },
    ]);
    await bed.manager.mount(pod, signal);
    const conf = dirOf('live', 'kubernetes.io~configmap', 'conf');
    bed.objects.configMaps.set('default/live', {
      data: new Map([
        ['a', '2'],
        ['c', '2'],
      ]),
    });
    await bed.manager.refresh(pod, signal);
    assert.deepEqual(
      (await readdir(conf)).filter((n) => !n.startsWith('..')),
      ['a', 'c'],
    );
    assert.equal(await readFile(join(conf, 'a'), 'utf8'), '2');
    assert.equal((await readdir(conf)).filter((n) => n.startsWith('..2')).length, 1);
    bed.objects.configMaps.delete('default/live');
    await bed.manager.refresh(pod, signal);
    assert.equal(await readFile(join(conf, 'a'), 'utf8'), '2');
    assert.match(bed.events.at(-1) ?? '', /^FailedMount: MountVolume.SetUp failed for volume "conf" : configmap "live" not found$/);
    await bed.manager.unmount(pod, signal);
  });

  it('gives files to the group of the pod', async () => {
    bed.objects.secrets.set('default/key', { data: new Map([['k', Buffer.from('v')]]) });
    const volumes: Volume[] = [
      { name: 'disk', emptyDir: {} },
      { name: 'memory', emptyDir: { medium: 'Memory' } },
      { name: 'key', secret: { secretName: 'key', defaultMode: 0o400 } },
      { name: 'token', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } },
    ];
    const pod = podWith('group', volumes, undefined, { securityContext: { fsGroup: 1234, runAsUser: 77 } });
    await bed.manager.mount(pod, signal);
    const looks = async (path: string) => {
      const { uid, gid } = await stat(path);
      return `${uid}:${gid} ${await mode(path)}`;
    };
    assert.equal(await looks(dirOf('group', 'kubernetes.io~empty-dir', 'disk')), '0:1234 2777');
    assert.equal(await looks(dirOf('group', 'kubernetes.io~empty-dir', 'memory')), '0:1234 3777');
    assert.equal(await looks(join(dirOf('group', 'kubernetes.io~secret', 'key'), 'k')), '0:1234 440');
    assert.equal(await looks(join(dirOf('group', 'kubernetes.io~projected', 'token'), 'token')), '77:1234 640');
    await bed.manager.unmount(pod, signal);
  });

  it('tells each volume that cannot be mounted, with its cause, and ends the wait for what is hopeless', async () => {
    const pod = podWith('bad', [
      { name: 'repo', gitRepo: { repository: 'x' } },
      { name: 'disk', cephfs: { monitors: [] } },
      { name: 'gone', configMap: { name: 'gone' } },
    ]);
    const err = await bed.manager.mount(pod, signal).catch((e: unknown) => e);
    assert.ok(err instanceof Error);
    assert.match(
      err.message,
      /^Unable to attach or mount volumes: unmounted volumes=\[disk gone repo\], unattached volumes=\[\], failed to process volumes=\[disk repo\]: /,
    );
    assert.match(err.message, /volume "repo" : gitRepo .*CVE-2024-10220.*CVE-2025-1767/);
    assert.match(err.message, /volume "disk" : no volume plug-in for cephfs/);
    assert.match(err.message, /volume "gone" : configmap "gone" not found/);
    assert.ok(bed.events.some((e) => e.startsWith('FailedMount: MountVolume.SetUp failed for volume "repo" : ')));
    const standalone = bed.restarted({ objects: undefined });
    await assert.rejects(standalone.mount(podWith('bad', [{ name: 's', secret: { secretName: 's' } }]), signal), /without an API server/);
    await bed.manager.unmount(pod, signal);
  });

  it('tries again until the object is there', async () => {
    const pod = podWith('late', [{ name: 'conf', configMap: { name: 'late' } }]);
    const mounted = bed.manager.mount(pod, signal);
    bed.objects.configMaps.set('default/late', { data: new Map([['k', 'v']]) });
    await mounted;
    assert.equal(await readFile(join(dirOf('late', 'kubernetes.io~configmap', 'conf'), 'k'), 'utf8'), 'v');
    await bed.manager.unmount(pod, signal);
  });

  it('ends a mount that is waiting when the pod is to stop', async () => {
    const stop = new AbortController();
    const mounted = bed.manager.mount(podWith('stopped', [{ name: 'conf', configMap: { name: 'never' } }]), stop.signal);
    setImmediate(() => stop.abort(new Error('the pod is to stop')));
    await assert.rejects(mounted, /the pod is to stop/);
  });

  it('checks the types of host paths and makes what is to be made', async () => {
    const at = (name: string) => join(bed.root, 'host', name);
    await mkdir(at('dir'), { recursive: true });
    await writeFile(at('file'), 'kept');
    await symlink(at('dir'), at('link'));
    await symlink(at('nowhere'), at('dangling'));
    const server = createServer().listen(at('socket'));
    server.unref();
    const setUp = async (path: string, type?: string) => {
      const pod = podWith('host', [{ name: 'h', hostPath: { path, ...(type === undefined ? {} : { type }) } }]);
      // The first failure is enough: the retries are another test's.
      await bed.mountOnce(pod);
      return (await bed.manager.mountsOf(pod, pod.spec.containers[0] ?? { name: '' }, []))[0]?.hostPath;
    };
    for (const [name, type] of [
      ['dir', 'Directory'],
      ['link', 'Directory'],
      ['file', 'File'],
      ['socket', 'Socket'],
      ['file', ''],
      ['nowhere', undefined],
      ['file', 'FileOrCreate'],
      ['new/deep', 'DirectoryOrCreate'],
      ['new/file', 'FileOrCreate'],
    ] as const) {
      assert.equal(await setUp(at(name), type), at(name));
    }
    assert.equal(await setUp('/dev/null', 'CharDevice'), '/dev/null');
    assert.deepEqual([await mode(at('new/deep')), await mode(at('new/file')), await readFile(at('file'), 'utf8')], ['755', '644', 'kept']);
    for (const [name, type, text] of [
      ['file', 'Directory', /is not a directory, it's a file/],
      ['file', 'DirectoryOrCreate', /is not a directory/],
      ['dir', 'File', /is not a file, it's a directory/],
      ['dir', 'FileOrCreate', /is not a file/],
      ['dangling', 'FileOrCreate', /is not a file/],
      ['file', 'Socket', /is not a socket file/],
      ['dir', 'BlockDevice', /is not a block device/],
      ['nothing', 'File', /it does not exist/],
      ['dir', 'SocketOrCreate', /invalid volume type/],
      ['dir/../dir', 'Directory', /must not contain '\.\.'/],
    ] as const) {
      await assert.rejects(setUp(`${join(bed.root, 'host')}/${name}`, type), text, `${name} as ${type}`);
    }
    await assert.rejects(lstat(at('nowhere')), /ENOENT/);
    server.close();
  });

  it('mounts huge pages of the size that the containers request, and refuses others', async () => {
    const pod = podWith('huge', [{ name: 'h', emptyDir: { medium: 'HugePages' } }]);
    const [container] = pod.spec.containers;
    assert.ok(container);
    await assert.rejects(bed.mountOnce(pod), /medium "HugePages" needs containers that request huge pages of one size/);
    container.resources = { requests: { 'hugepages-2Mi': '4Mi' } };
    await bed.manager.mount(pod, signal);
    const mounted = (await nodeMounts.below(bed.root)).find((m) => m.fsType === 'hugetlbfs');
    assert.ok(mounted?.superOptions.includes('pagesize=2M'));
    await bed.manager.unmount(pod, signal);
  });

  it('measures what volumes hold, each by its own kind', async () => {
    bed.objects.configMaps.set('default/conf', { data: new Map([['k', 'v']]) });
    const pod = podWith('measured', [
      { name: 'disk', emptyDir: {} },
      { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '8Mi' } },
      { name: 'conf', configMap: { name: 'conf' } },
      { name: 'host', hostPath: { path: '/' } },
    ]);
    assert.deepEqual(await bed.manager.usageOf(pod), []);
    await bed.manager.mount(pod, signal);
    await writeFile(join(dirOf('measured', 'kubernetes.io~empty-dir', 'disk'), 'f'), Buffer.alloc(1_000_000, 1));
    await writeFile(join(dirOf('measured', 'kubernetes.io~empty-dir', 'memory'), 'f'), Buffer.alloc(1024 * 1024, 1));
    const usages = new Map((await bed.manager.usageOf(pod)).map((u) => [u.volume, u]));
    assert.deepEqual([...usages.keys()], ['disk', 'memory', 'conf']);
    const disk = usages.get('disk');
    const space = await statfs(bed.root);
    assert.ok((disk?.usedBytes ?? 0) >= 1_000_000 && (disk?.usedBytes ?? 0) < 1_100_000);
    assert.deepEqual([disk?.inodesUsed, disk?.capacityBytes, disk?.plugin], [2, space.blocks * space.bsize, 'kubernetes.io/empty-dir']);
    const memory = usages.get('memory');
    assert.deepEqual([memory?.usedBytes, memory?.capacityBytes, memory?.inodesUsed], [1024 * 1024, 8 * 1024 * 1024, 2]);
    await bed.manager.unmount(pod, signal);
    assert.deepEqual(await bed.manager.usageOf(pod), []);
  });

  it('releases volumes of pods that nobody knows', async () => {
    const pod = podWith('unknown-pod', [{ name: 'memory', emptyDir: { medium: 'Memory' } }]);
    const known = podWith('known-pod', [{ name: 'memory', emptyDir: { medium: 'Memory' } }]);
    await bed.manager.mount(pod, signal);
    await bed.manager.mount(known, signal);
    await bed.restarted().releaseUnknown((uid) => uid === 'known-pod');
    assert.deepEqual(
      (await nodeMounts.below(bed.root)).map((m) => m.mountPoint),
      [dirOf('known-pod', 'kubernetes.io~empty-dir', 'memory')],
    );
    await bed.manager.unmount(known, signal);
  });
});
