import assert from 'node:assert/strict';
import { readFile, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import type { Volume } from '../../src/api/types.ts';
import { nodeMounts } from '../../src/host/mounts.ts';
import { podWith, volumesBed } from '../support/volumes.ts';

/* Volumes of networks that few test hosts have: against a server that the environment names. */

const { signal } = new AbortController();

/** Mounts, writes, unmounts, mounts again as a new agent, reads, and leaves nothing. */
async function keeps(plugin: string, source: Omit<Volume, 'name'>): Promise<void> {
  const bed = await volumesBed();
  try {
    const pod = podWith('net', [{ name: 'v', ...source }]);
    const file = join(bed.podsDir, 'net/volumes', plugin, 'v', 'kubelet-ts-test');
    await bed.manager.mount(pod, signal);
    await writeFile(file, 'kept');
    await bed.manager.unmount(pod, signal);
    assert.deepEqual(await nodeMounts.below(bed.root), []);
    await bed.restarted().mount(pod, signal);
    assert.equal(await readFile(file, 'utf8'), 'kept');
    await unlink(file);
    await bed.restarted().unmount(pod, signal);
    assert.deepEqual(await nodeMounts.below(bed.root), []);
  } finally {
    await bed.remove();
  }
}

const nfs = process.env['KTS_TEST_NFS'] ?? '';
it('a directory of an NFS server is mounted', { skip: nfs === '' ? 'KTS_TEST_NFS names no server' : false }, () =>
  keeps('kubernetes.io~nfs', { nfs: { server: nfs.slice(0, nfs.lastIndexOf(':')), path: nfs.slice(nfs.lastIndexOf(':') + 1) } }),
);

const iscsi = process.env['KTS_TEST_ISCSI'] ?? '';
it('a unit of an iSCSI target is mounted', { skip: iscsi === '' ? 'KTS_TEST_ISCSI names no target' : false }, () => {
  const [targetPortal = '', iqn = '', lun = '0'] = iscsi.split(',');
  return keeps('kubernetes.io~iscsi', { iscsi: { targetPortal, iqn, lun: Number(lun), fsType: 'ext4' } });
});
