import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import type { Pod } from '../api/types.ts';
import { systemClock } from '../host/clock.ts';
import { FileThreads } from '../host/file-threads/file-threads.ts';
import { nodeFiles } from '../host/files-node.ts';
import { nodeMounts } from '../host/mounts.ts';
import { nodeOwnedFiles } from '../host/owned-files.ts';
import { systemRandom } from '../host/random.ts';
import { nodeTools } from '../host/tools.ts';
import { silentLogger } from '../observe/log.ts';
import { VolumeManager } from './manager.ts';
import { UnmountedVolumesError } from './mount-errors.ts';
import type { VolumeObjects } from './ports.ts';

describe('VolumeManager', () => {
  let root: string;
  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'kts-manager-'));
  });
  after(() => rm(root, { recursive: true, force: true }));

  function world(objects: Partial<VolumeObjects>) {
    const events: string[] = [];
    const clock = new SimClock();
    const manager = new VolumeManager({
      clock,
      random: systemRandom,
      log: silentLogger,
      events: { event: (object, type, reason, message) => void events.push(`${object.name} ${type} ${reason} ${message}`) },
      files: nodeFiles,
      owned: nodeOwnedFiles,
      mounts: nodeMounts,
      slowFiles: new FileThreads(systemClock),
      longFiles: new FileThreads(systemClock),
      tools: nodeTools,
      podsDir: join(root, 'pods'),
      allocatable: () => ({}),
      fields: { metadata: () => '', resource: () => '' },
      objects: {
        configMap: async () => undefined,
        secret: async () => undefined,
        token: async () => '',
        claim: none,
        persistentVolume: none,
        trustAnchors: none,
        ...objects,
      },
      expandSubPath: (text) => text,
      recursiveReadOnly: () => false,
      selinux: false,
      noSwap: false,
    });
    return { manager, clock, events };
  }

  const pod = (uid: string, ...names: string[]): Pod => ({
    metadata: { name: 'web', namespace: 'shop', uid },
    spec: {
      containers: [{ name: 'c', volumeMounts: names.map((name) => ({ name, mountPath: `/${name}` })) }],
      volumes: names.map((name) => ({ name, configMap: { name } })),
    },
  });
  const { signal } = new AbortController();

  const none = async () => undefined;

  it('tries again with growing waits for two minutes and three seconds, then says what it was', async () => {
    const { manager, clock, events } = world({});
    const mounted = manager.mount(pod('u1', 'conf'), signal);
    const failed = assert.rejects(mounted, (err) => {
      assert.ok(err instanceof UnmountedVolumesError);
      assert.equal(
        err.message,
        'Unable to attach or mount volumes: unmounted volumes=[conf], unattached volumes=[], failed to process volumes=[]: ' +
          'MountVolume.SetUp failed for volume "conf" : configmap "conf" not found',
      );
      return true;
    });
    const told: number[] = [];
    for (let at = 0; at < 122_999; at += 500) {
      await clock.advance(at === 0 ? 1 : 500);
      if (events.length > told.length) told.push(Math.floor(clock.monotonic() / 500) * 500);
    }
    assert.deepEqual(told, [0, 500, 1500, 3500, 7500, 15500, 31500, 63500]);
    await clock.advance(1000);
    await failed;
    assert.equal(events.length, 8);
    assert.equal(events[0], 'web Warning FailedMount MountVolume.SetUp failed for volume "conf" : configmap "conf" not found');
  });

  it('goes on when the object appears, and asks for nothing that no container mounts', async () => {
    let asked = 0;
    const found = { data: new Map([['k', 'v']]), binaryData: new Map(), immutable: false, resourceVersion: '1' };
    const { manager, clock } = world({ configMap: async () => (++asked < 3 ? undefined : found) });
    const p = pod('u2', 'conf');
    p.spec.volumes?.push({ name: 'unused', configMap: { name: 'unused' } });
    const mounted = manager.mount(p, signal);
    await clock.advance(1500);
    await mounted;
    assert.equal(asked, 3);
    assert.equal((await nodeFiles.read(join(root, 'pods/u2/volumes/kubernetes.io~configmap/conf/k'))).toString(), 'v');
    const unmounted = manager.unmount(p, signal);
    await clock.advance(0);
    await unmounted;
    assert.deepEqual(await nodeFiles.list(join(root, 'pods/u2/volumes')), []);
  });

  it('leaves nothing behind of a volume whose object is missing', async () => {
    const { manager, clock } = world({});
    const mounted = assert.rejects(manager.mount(pod('u3', 'conf'), signal));
    await clock.advance(123_000);
    await mounted;
    assert.equal(await nodeFiles.lstat(join(root, 'pods/u3')), undefined);
  });

  it('refuses names that would lead out of the root directory', async () => {
    const { manager } = world({});
    await assert.rejects(manager.unmount(pod('..'), signal), /cannot be the name of a directory/);
    await assert.rejects(manager.unmount(pod('a/../../b'), signal), /cannot be the name of a directory/);
  });
});
