import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod, Volume } from '../api/types.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../kube/types.ts';
import { checkNodeAffinity, groupOf, isForOnePod, resolveVolume } from './claims.ts';
import { plainVolume } from './resolved-volume.ts';

const claim = (more: object = {}): PersistentVolumeClaim => ({
  metadata: { name: 'data', namespace: 'shop', uid: 'claim-1' },
  spec: { volumeName: 'pv-1' },
  status: { phase: 'Bound' },
  ...more,
});
const pv = (spec: object = {}, annotations: Record<string, string> = {}): PersistentVolume => ({
  metadata: { name: 'pv-1', annotations },
  spec: {
    claimRef: { namespace: 'shop', name: 'data', uid: 'claim-1' },
    accessModes: ['ReadWriteOnce'],
    nfs: { server: 's', path: '/' },
    ...spec,
  },
});
const pod = (volume: Volume, use: 'volumeMounts' | 'volumeDevices' = 'volumeMounts'): Pod => ({
  metadata: { name: 'web', namespace: 'shop', uid: 'pod-1' },
  spec: {
    volumes: [volume],
    containers: [
      {
        name: 'c',
        ...(use === 'volumeMounts'
          ? { volumeMounts: [{ name: 'v', mountPath: '/v' }] }
          : { volumeDevices: [{ name: 'v', devicePath: '/v' }] }),
      },
    ],
  },
});
const byClaim: Volume = { name: 'v', persistentVolumeClaim: { claimName: 'data' } };

function resolve(found: { claim?: PersistentVolumeClaim; pv?: PersistentVolume }, volume = byClaim, use?: 'volumeDevices') {
  const asked: string[] = [];
  const objects = {
    claim: async (namespace: string, name: string) => {
      asked.push(`${namespace}/${name}`);
      return found.claim;
    },
    persistentVolume: async (name: string) => {
      asked.push(name);
      return found.pv;
    },
  };
  return { asked, resolved: resolveVolume({ objects, nodeLabels: () => ({}) }, pod(volume, use), volume) };
}

describe('resolveVolume', () => {
  it('gives the source of the bound volume under its name', async () => {
    const volume = { name: 'v', persistentVolumeClaim: { claimName: 'data', readOnly: true } };
    const { asked, resolved } = resolve(
      { claim: claim(), pv: pv({ mountOptions: ['hard'], persistentVolumeReclaimPolicy: 'Retain', storageClassName: '' }) },
      volume,
    );
    const { persistent, ...rest } = await resolved;
    assert.deepEqual(rest, {
      name: 'v',
      source: { name: 'pv-1', nfs: { server: 's', path: '/' } },
      readOnly: true,
      isBlock: false,
      mountOptions: ['hard'],
    });
    assert.deepEqual(persistent?.claim, { namespace: 'shop', name: 'data', uid: 'claim-1' });
    assert.deepEqual(asked, ['shop/data', 'pv-1']);
  });

  it('looks up the claim of an ephemeral volume by the pod and the volume, and takes none of another pod', async () => {
    const ephemeral = { name: 'v', ephemeral: { volumeClaimTemplate: {} } };
    const owned = (uid: string) =>
      claim({
        metadata: {
          name: 'web-v',
          uid: 'claim-1',
          ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'web', uid, controller: true }],
        },
      });
    const { asked, resolved } = resolve({ claim: owned('pod-1'), pv: pv() }, ephemeral);
    assert.equal((await resolved).source.name, 'pv-1');
    assert.equal(asked[0], 'shop/web-v');
    const message = 'error processing PVC shop/web-v: PVC shop/web-v was not created for pod shop/web (pod is not owner)';
    await assert.rejects(resolve({ claim: owned('pod-2'), pv: pv() }, ephemeral).resolved, { code: 'unresolved', message });
  });

  it('says why a claim leads to no volume', async () => {
    const cases: [{ claim?: PersistentVolumeClaim; pv?: PersistentVolume }, RegExp][] = [
      [{}, /^error processing PVC shop\/data: failed to fetch PVC from API server: persistentvolumeclaims "data" not found$/],
      [{ claim: claim({ status: { phase: 'Pending' } }) }, /: PVC is not bound$/],
      [{ claim: claim({ spec: {} }) }, /: PVC is not bound$/],
      [{ claim: claim({ metadata: { name: 'data', deletionTimestamp: '2026-01-01T00:00:00Z' } }) }, /: PVC is being deleted$/],
      [{ claim: claim() }, /: failed to fetch PV "pv-1" from API server: not found$/],
      [{ claim: claim(), pv: pv({ claimRef: undefined }) }, /found PV object "pv-1" but it has a nil pv.Spec.ClaimRef/],
      [
        { claim: claim(), pv: pv({ claimRef: { uid: 'claim-0' } }) },
        /pv.Spec.ClaimRef.UID "claim-0" does not point to claim.UID "claim-1"$/,
      ],
      [{ claim: claim(), pv: pv({ volumeMode: 'Block' }) }, /volume v has volumeMode Block, but is specified in volumeMounts$/],
    ];
    for (const [found, message] of cases) await assert.rejects(resolve(found).resolved, { code: 'unresolved', message });
    const asDevice = resolve({ claim: claim(), pv: pv() }, byClaim, 'volumeDevices').resolved;
    await assert.rejects(asDevice, /volume v has volumeMode Filesystem, but is specified in volumeDevices$/);
    const alone = resolveVolume({ objects: undefined, nodeLabels: () => ({}) }, pod(byClaim), byClaim);
    await assert.rejects(alone, { code: 'no-api-server', message: 'error processing PVC shop/data: this node runs without an API server' });
  });

  it('reads the group, the mount options of old and the one pod of a volume', async () => {
    const annotations = { 'pv.beta.kubernetes.io/gid': '1234', 'volume.beta.kubernetes.io/mount-options': 'ro,hard' };
    const volume = await resolve({ claim: claim(), pv: pv({ accessModes: ['ReadWriteOncePod'] }, annotations) }).resolved;
    assert.deepEqual([groupOf(volume), volume.mountOptions, isForOnePod(volume)], [1234, ['ro', 'hard'], true]);
    assert.deepEqual([groupOf(plainVolume(byClaim)), isForOnePod(plainVolume(byClaim))], [undefined, false]);
  });

  it('checks that the node can reach the volume', async () => {
    const required = { nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['n1'] }] }] };
    const volume = await resolve({ claim: claim(), pv: pv({ nodeAffinity: { required } }) }).resolved;
    checkNodeAffinity({ nodeLabels: () => ({ 'kubernetes.io/hostname': 'n1' }) }, volume);
    assert.throws(
      () => checkNodeAffinity({ nodeLabels: () => ({ 'kubernetes.io/hostname': 'n2' }) }, volume),
      /^VolumeError: no matching NodeSelectorTerms$/,
    );
  });
});
