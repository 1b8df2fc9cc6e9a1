import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SimClock } from '../../../test/sim/clock.ts';
import type { Pod, Volume } from '../../api/types.ts';
import type { Files } from '../../host/files.ts';
import type { MountEntry, Mounter, Mounts } from '../../host/mounts.ts';
import type { MountedVolumeDeps } from '../mounted-volume.ts';
import type { VolumeContext } from '../plugin.ts';
import { FibreChannel } from './fc.ts';
import { Iscsi } from './iscsi.ts';
import { Nfs } from './nfs.ts';

/** A node of strings: what is mounted, which tools were called and what they answer. The kernel here has neither NFS nor these networks. */
function world(answers: (command: string) => { code?: number; stdout?: string; stderr?: string } | undefined = () => undefined) {
  const state = { mounted: [] as MountEntry[], done: [] as string[], disks: [] as string[] };
  const mounts: Mounts & Mounter = {
    list: async () => state.mounted,
    below: async (path) => state.mounted.filter(({ mountPoint }) => mountPoint === path || mountPoint.startsWith(`${path}/`)),
    unmount: async (path) => {
      state.done.push(`umount ${path}`);
      state.mounted = state.mounted.filter(({ mountPoint }) => mountPoint !== path);
    },
    mount: async ({ source, target, fsType, options }) => {
      state.done.push(`mount ${fsType ?? 'bind'} ${options.join(',')} ${source} ${target}`);
      const device = state.mounted.find(({ mountPoint }) => mountPoint === source)?.source ?? source;
      const entry = {
        id: 1,
        parentId: 0,
        root: '/',
        mountPoint: target,
        options: [],
        fsType: fsType ?? '',
        source: device,
        superOptions: [],
      };
      state.mounted.push(entry);
    },
    unmountAll: async () => {},
    isOwnDevice: async () => false,
  };
  const files: Pick<Files, 'mkdir' | 'rmdir' | 'list' | 'write'> = {
    mkdir: async () => {},
    rmdir: async () => {},
    list: async (path) =>
      path.startsWith('/dev/disk')
        ? state.disks.map((name) => ({ name, kind: 'symlink' as const }))
        : [{ name: 'host0', kind: 'symlink' as const }],
    write: async (path, data) => void state.done.push(`write ${path} ${String(data)}`),
  };
  const deps: MountedVolumeDeps = {
    clock: new SimClock(),
    longFiles: { run: async () => Promise.reject(new Error('no walk is expected')) },
    events: { event: () => {} },
    files: files as Files,
    mounts,
    mounter: mounts,
    tools: {
      run: async (name, args) => {
        const command = [name, ...args].join(' ');
        state.done.push(command);
        return { code: 0, stdout: '', stderr: '', ...answers(command) };
      },
    },
    rootDir: async () => '/root',
  };
  const context = (volume: Volume, more: Partial<VolumeContext> = {}): VolumeContext => {
    const pod: Pod = { metadata: { name: 'web', namespace: 'shop', uid: 'u' }, spec: { containers: [] } };
    return {
      pod,
      volume,
      dir: `/root/pods/u/volumes/x/${volume.name}`,
      fsGroup: undefined,
      readOnly: false,
      mountOptions: [],
      signal: new AbortController().signal,
      ...more,
    };
  };
  return { state, deps, context };
}

describe('Nfs', () => {
  it('mounts once, with the options of the volume', async () => {
    const { state, deps, context } = world();
    const nfs = new Nfs(deps);
    const volume = { name: 'pv', nfs: { server: 'fd00::1', path: '/data', readOnly: true } };
    await nfs.setUp(context(volume, { mountOptions: ['hard', 'nfsvers=4.1'] }));
    await nfs.setUp(context(volume));
    assert.deepEqual(state.done, ['mount nfs ro,hard,nfsvers=4.1 [fd00::1]:/data /root/pods/u/volumes/x/pv']);
  });

  it('refuses what is no server or no path', async () => {
    const { deps, context } = world();
    const setUp = (nfs: object) => new Nfs(deps).setUp(context({ name: 'v', nfs }));
    await assert.rejects(setUp({ server: 'a,b', path: '/' }), /no name of a server/);
    await assert.rejects(setUp({ server: 'a', path: 'data' }), /must be absolute/);
  });
});

describe('Iscsi', () => {
  const iscsi = { targetPortal: '10.0.0.1', iqn: 'iqn.2026-01.com.example:disk', lun: 2, fsType: 'ext4', portals: ['10.0.0.2:3261'] };
  const disk = 'ip-10.0.0.1:3260-iscsi-iqn.2026-01.com.example:disk-lun-2';

  it('logs in at each portal, formats an empty disk, mounts it once for all pods, and leaves when the last is gone', async () => {
    const { state, deps, context } = world((command) => (command.startsWith('blkid') ? { code: 2 } : undefined));
    state.disks = [disk];
    const plugin = new Iscsi({ ...deps, sources: { fields: { metadata: () => '', resource: () => '' } } });
    await plugin.setUp(context({ name: 'pv', iscsi }));
    const place = '/root/plugins/kubernetes.io/iscsi/iface-default/10.0.0.1:3260-iqn.2026-01.com.example:disk-lun-2';
    assert.equal(state.done.filter((c) => c.endsWith('--login')).length, 2);
    assert.deepEqual(state.done.slice(-3), [
      `mkfs.ext4 -F -m0 /dev/disk/by-path/${disk}`,
      `mount ext4 defaults /dev/disk/by-path/${disk} ${place}`,
      `mount bind bind ${place} /root/pods/u/volumes/x/pv`,
    ]);
    const other = context({ name: 'pv', iscsi }, { dir: '/root/pods/w/volumes/x/pv' });
    state.done.length = 0;
    await plugin.setUp(other);
    assert.equal(state.done.filter((c) => c.startsWith('mount ')).length, 1);
    // The manager unmounts the directory of a pod before it is torn down.
    state.done.length = 0;
    await deps.mounts.unmount(other.dir);
    await plugin.tearDown(other.dir);
    assert.deepEqual(state.done, [`umount ${other.dir}`]);
    await deps.mounts.unmount('/root/pods/u/volumes/x/pv');
    await plugin.tearDown('/root/pods/u/volumes/x/pv');
    assert.deepEqual(state.done.slice(-3), [
      `umount ${place}`,
      'iscsiadm -m node -p 10.0.0.1:3260 -T iqn.2026-01.com.example:disk -I default --logout',
      'iscsiadm -m node -p 10.0.0.1:3260 -T iqn.2026-01.com.example:disk -I default -o delete',
    ]);
  });

  it('tells why no portal leads to the disk, and never a password', async () => {
    const { deps, context } = world((command) =>
      command.includes('password') ? { code: 6, stderr: 'iscsiadm: invalid value' } : undefined,
    );
    const secret = { data: new Map([['node.session.auth.password', Buffer.from('s3cret')]]), immutable: false, resourceVersion: '1' };
    const objects = { secret: async () => secret } as never;
    const plugin = new Iscsi({ ...deps, sources: { objects, fields: { metadata: () => '', resource: () => '' } } });
    const setUp = plugin.setUp(
      context({ name: 'pv', iscsi: { ...iscsi, portals: [], chapAuthSession: true, secretRef: { name: 'chap' } } }),
    );
    await assert.rejects(
      setUp,
      (err: Error) =>
        /portal 10.0.0.1:3260: iscsiadm: exit status 6: iscsiadm: invalid value/.test(err.message) && !err.message.includes('s3cret'),
    );
  });

  it('refuses names that would be other arguments', async () => {
    const { deps, context } = world();
    const plugin = new Iscsi({ ...deps, sources: { fields: { metadata: () => '', resource: () => '' } } });
    for (const wrong of [{ iqn: '--help' }, { targetPortal: '-x' }, { targetPortal: '' }, { iscsiInterface: 'a b' }]) {
      await assert.rejects(plugin.setUp(context({ name: 'pv', iscsi: { ...iscsi, portals: [], ...wrong } })), /^VolumeError: iscsi: /);
    }
  });
});

describe('FibreChannel', () => {
  it('finds the disk by its target and unit, after a scan where it is not there yet', async () => {
    const { state, deps, context } = world(() => ({ stdout: 'DEVNAME=/dev/sdb\nTYPE=xfs\n' }));
    const clock = deps.clock as SimClock;
    const plugin = new FibreChannel(deps);
    const mounted = plugin.setUp(context({ name: 'pv', fc: { targetWWNs: ['50060e801049cfd1'], lun: 1, fsType: 'xfs', readOnly: true } }));
    await clock.settle();
    assert.deepEqual(state.done, ['write /sys/class/scsi_host/host0/scan - - -']);
    state.disks = ['pci-0000:00:1f.0-fc-0x50060e801049cfd1-lun-1'];
    await clock.advance(1000);
    await mounted;
    assert.deepEqual(state.done.slice(2), [
      'mount xfs defaults,ro /dev/disk/by-path/pci-0000:00:1f.0-fc-0x50060e801049cfd1-lun-1 /root/plugins/kubernetes.io/fc/target-50060e801049cfd1-lun-1',
      'mount bind bind,ro /root/plugins/kubernetes.io/fc/target-50060e801049cfd1-lun-1 /root/pods/u/volumes/x/pv',
    ]);
  });

  it('never formats a disk that holds another file system, and gives up on one that does not come', async () => {
    const { state, deps, context } = world(() => ({ stdout: 'TYPE=ntfs\n' }));
    state.disks = ['scsi-36000_1'];
    const plugin = new FibreChannel(deps);
    await assert.rejects(
      plugin.setUp(context({ name: 'pv', fc: { wwids: ['36000 1'] } })),
      /failed to mount the volume as "ext4", it already contains ntfs/,
    );
    assert.ok(!state.done.some((command) => command.startsWith('mkfs')));
    state.disks = [];
    const waited = assert.rejects(plugin.setUp(context({ name: 'pv', fc: { wwids: ['36000 1'] } })), /it has not appeared within 10 s/);
    await (deps.clock as SimClock).advance(11_000);
    await waited;
  });
});
