import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../api/types.ts';
import { objectTtlMs } from './object-ttl.ts';
import { configMapNames, secretNames } from './references.ts';

const from = (kind: 'configMap' | 'secret', name: string) => ({
  name: 'c',
  env: [
    { name: 'A', valueFrom: { [`${kind}KeyRef`]: { name: `${name}-key`, key: 'k' } } },
    { name: 'B', value: 'x' },
  ],
  envFrom: [{ [`${kind}Ref`]: { name: `${name}-all` } }],
});

const pod: Pod = {
  metadata: { name: 'p', namespace: 'ns', uid: 'u' },
  spec: {
    containers: [from('configMap', 'cm'), from('secret', 's')],
    initContainers: [from('configMap', 'init-cm'), from('secret', 'init-s')],
    ephemeralContainers: [from('configMap', 'eph-cm'), from('secret', 'eph-s')],
    imagePullSecrets: [{ name: 'pull' }, {}],
    volumes: [
      { name: 'a', configMap: { name: 'cm-volume' } },
      { name: 'b', secret: { secretName: 's-volume' } },
      {
        name: 'c',
        projected: { sources: [{ configMap: { name: 'cm-part' } }, { secret: { name: 's-part' } }, { downwardAPI: {} }, null] },
      },
      { name: 'd', csi: { driver: 'x', nodePublishSecretRef: { name: 's-csi' } } },
      { name: 'e', emptyDir: {} },
      { name: 'f', projected: { sources: 'nonsense' } },
      { name: 'g', configMap: { name: 7 } },
      { name: 'h', rbd: { secretRef: null } },
    ],
  },
};

describe('references of a pod', () => {
  it('to config maps: environment of all containers, volumes, projected sources', () => {
    const names = ['cm-all', 'cm-key', 'cm-part', 'cm-volume', 'eph-cm-all', 'eph-cm-key', 'init-cm-all', 'init-cm-key'];
    assert.deepEqual([...configMapNames(pod)].sort(), names);
  });
  it('to secrets: the same, image pulls, and what volume drivers need', () => {
    const names = ['eph-s-all', 'eph-s-key', 'init-s-all', 'init-s-key', 'pull', 's-all', 's-csi', 's-key', 's-part', 's-volume'];
    assert.deepEqual([...secretNames(pod)].sort(), names);
  });
});

describe('objectTtlMs', () => {
  it('is what the node is told, else a minute', () => {
    const ttl = (text: string) => objectTtlMs({ 'node.alpha.kubernetes.io/ttl': text });
    assert.deepEqual(
      [ttl('0'), ttl('15'), ttl('300'), ttl('soon'), ttl(''), objectTtlMs({}), objectTtlMs(undefined)],
      [0, 15_000, 300_000, 60_000, 60_000, 60_000, 60_000],
    );
  });
});
