import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod, VolumeMount } from '../api/types.ts';
import { nodeFiles } from '../host/files-node.ts';
import { nodeMounts } from '../host/mounts.ts';
import { nodeOwnedFiles } from '../host/owned-files.ts';
import { silentLogger } from '../observe/log.ts';
import { type ContainerMountsDeps, containerMounts } from './container-mounts.ts';
import type { VolumePlugin } from './plugin.ts';
import { pluginFor } from './plugin-table.ts';
import { ImageVolume } from './plugins/image.ts';
import { plainVolume } from './resolved-volume.ts';

const plugin = (kind: string, more: Partial<VolumePlugin>): VolumePlugin => ({
  name: `kubernetes.io/${kind}`,
  readOnly: false,
  relabel: true,
  refreshes: false,
  isHostPath: false,
  supports: (volume) => volume[kind] !== undefined,
  setUp: async () => {},
  hostPath: (_volume, dir) => dir,
  tearDown: async () => {},
  ...more,
});

const plugins = [
  plugin('emptyDir', {}),
  plugin('secret', { readOnly: true }),
  plugin('hostPath', { relabel: false, hostPath: () => '/on/host' }),
  new ImageVolume(),
];

const deps = (more: Partial<ContainerMountsDeps> = {}): ContainerMountsDeps => ({
  files: nodeFiles,
  owned: nodeOwnedFiles,
  mounts: nodeMounts,
  mounter: nodeMounts,
  slowFiles: { run: () => Promise.reject(new Error('nothing is to be asked')) },
  find: async (pod, name) => {
    const volume = pod.spec.volumes?.find((v) => v.name === name) ?? { name };
    return { plugin: pluginFor(plugins, volume), resolved: plainVolume(volume) };
  },
  podsDir: '/pods',
  log: silentLogger,
  expandSubPath: (text) => text,
  recursiveReadOnly: () => false,
  selinux: false,
  ...more,
});

function mounts(mount: Partial<VolumeMount>, more: Partial<ContainerMountsDeps> = {}, privileged = false) {
  const container = { name: 'c', volumeMounts: [{ name: 'disk', mountPath: '/m', ...mount }], securityContext: { privileged } };
  const pod: Pod = {
    metadata: { name: 'p', namespace: 'n', uid: 'u' },
    spec: {
      containers: [container],
      volumes: [
        { name: 'disk', emptyDir: {} },
        { name: 'key', secret: {} },
        { name: 'host', hostPath: { path: '/on/host' } },
        { name: 'odd', floppy: {} },
        { name: 'image', image: { reference: 'tools:1' } },
        { name: 'lost', image: { reference: 'lost:1' } },
      ],
    },
  };
  return containerMounts(deps(more), pod, container, [], new Map([['image', { image: 'sha256:1' }]]));
}

describe('containerMounts', () => {
  it('names where the host has each volume', async () => {
    const usual = { readonly: false, selinuxRelabel: false, propagation: 'PRIVATE' };
    assert.deepEqual(await mounts({}), [{ ...usual, containerPath: '/m', hostPath: '/pods/u/volumes/kubernetes.io~emptyDir/disk' }]);
    assert.deepEqual(await mounts({ name: 'host', mountPath: 'rel/ative' }), [
      { ...usual, containerPath: '/rel/ative', hostPath: '/on/host' },
    ]);
  });

  it('leaves the files of an image, and a sub path in them, to the runtime', async () => {
    const usual = { hostPath: '', image: { image: 'sha256:1' }, readonly: true, selinuxRelabel: false, propagation: 'PRIVATE' };
    const selinux = { selinux: true };
    assert.deepEqual(await mounts({ name: 'image', readOnly: false }, selinux), [{ ...usual, containerPath: '/m' }]);
    assert.deepEqual(await mounts({ name: 'image', subPath: 'a/b' }), [{ ...usual, containerPath: '/m', imageSubPath: 'a/b' }]);
    await assert.rejects(mounts({ name: 'image', subPath: '../b' }), /must not contain '..'/);
    await assert.rejects(mounts({ name: 'image', subPath: '/b' }), /must not be an absolute path/);
    await assert.rejects(mounts({ name: 'lost' }), /the image of volume "lost" is not known/);
  });

  it('mounts files of the agent read-only whatever the pod says (CVE-2017-1002102)', async () => {
    const readonly = async (mount: Partial<VolumeMount>) => (await mounts(mount))[0]?.readonly;
    assert.equal(await readonly({ name: 'key', readOnly: false }), true);
    assert.equal(await readonly({ readOnly: true }), true);
    assert.equal(await readonly({ readOnly: false }), false);
  });

  it("asks for a label only where SELinux is at work and the files are the agent's", async () => {
    const label = async (name: string, selinux: boolean) => (await mounts({ name }, { selinux }))[0]?.selinuxRelabel;
    assert.deepEqual([await label('disk', false), await label('disk', true), await label('host', true)], [false, true, false]);
  });

  it('translates propagation, both ways for privileged containers only', async () => {
    const of = async (mountPropagation: VolumeMount['mountPropagation'], privileged = false) =>
      (await mounts(mountPropagation === undefined ? {} : { mountPropagation }, {}, privileged))[0]?.propagation;
    assert.deepEqual(
      [await of(undefined), await of('None'), await of('HostToContainer'), await of('Bidirectional', true)],
      ['PRIVATE', 'PRIVATE', 'HOST_TO_CONTAINER', 'BIDIRECTIONAL'],
    );
    await assert.rejects(of('Bidirectional'), /privileged containers only/);
    await assert.rejects(of('Sideways' as 'None'), /invalid MountPropagation mode: "Sideways"/);
  });

  it('resolves recursive read-only by what the runtime can', async () => {
    const of = async (recursiveReadOnly: string, can: boolean, more: Partial<VolumeMount> = { readOnly: true }) =>
      (await mounts({ recursiveReadOnly, ...more }, { recursiveReadOnly: () => can }))[0]?.recursiveReadOnly;
    assert.deepEqual(
      [await of('Disabled', true), await of('IfPossible', false), await of('IfPossible', true), await of('Enabled', true)],
      [undefined, undefined, true, true],
    );
    await assert.rejects(of('Enabled', false), /requested recursive read-only mode, but it is not supported by the runtime/);
    await assert.rejects(of('IfPossible', true, {}), /but it is not read-only/);
    await assert.rejects(
      of('Enabled', true, { readOnly: true, mountPropagation: 'HostToContainer' }),
      /not compatible with propagation "HostToContainer"/,
    );
    await assert.rejects(of('Perhaps', true), /unknown recursive read-only mode "Perhaps"/);
  });

  it('says which volume is missing or of a kind that is not known', async () => {
    await assert.rejects(mounts({ name: 'none' }), /cannot find volume "none" to mount into container "c"/);
    await assert.rejects(mounts({ name: 'odd' }), /no volume plug-in for floppy/);
  });
});
