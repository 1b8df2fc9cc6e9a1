import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Pod } from '../../api/types.ts';
import { GrpcError } from '../../proto/unix-client.ts';
import type { VolumeContext } from '../plugin.ts';
import { podAttributes, publishInput, tokenAttributes } from './attributes.ts';
import { failureKind, isInfeasible } from './csi-error.ts';
import { changesGroup, checkLifecycleMode } from './fs-group-policy.ts';
import { type CsiVolume, csiVolume } from './source.ts';

const pod: Pod = {
  metadata: { name: 'p', namespace: 'ns', uid: 'u' },
  spec: { containers: [], serviceAccountName: 'sa' },
};

const context = (more: Partial<VolumeContext>): VolumeContext => ({
  pod,
  volume: { name: 'v' },
  dir: '/d',
  fsGroup: undefined,
  readOnly: false,
  mountOptions: [],
  signal: new AbortController().signal,
  ...more,
});

describe('what a driver is told', () => {
  it('is of the pod and its tokens where they have a say, and the volume cannot forge it', () => {
    const strings = fc.dictionary(
      fc.constantFrom('a', 'csi.storage.k8s.io/pod.name', 'csi.storage.k8s.io/serviceAccount.tokens', '__proto__'),
      fc.string(),
    );
    fc.assert(
      fc.property(strings, strings, fc.boolean(), (attributes, secrets, tokensInSecrets) => {
        const tokens = tokenAttributes(new Map([['aud', { token: 't', expirationTimestamp: '2030-01-01T00:00:00Z' }]]));
        const input = publishInput({ attributes, secrets, pod: podAttributes(pod, 'Ephemeral'), tokens, tokensInSecrets });
        const key = 'csi.storage.k8s.io/serviceAccount.tokens';
        assert.equal(input.volumeContext['csi.storage.k8s.io/pod.name'], 'p');
        assert.equal(input.volumeContext['csi.storage.k8s.io/ephemeral'], 'true');
        assert.equal(
          (tokensInSecrets ? input.secrets : input.volumeContext)[key],
          '{"aud":{"expirationTimestamp":"2030-01-01T00:00:00Z","token":"t"}}',
        );
        // The other map holds what its owner wrote there.
        assert.equal((tokensInSecrets ? input.volumeContext : input.secrets)[key], (tokensInSecrets ? attributes : secrets)[key]);
        assert.equal(input.volumeContext['a'], attributes['a']);
      }),
    );
  });

  it('is nothing of tokens when there are none', () => {
    assert.deepEqual(tokenAttributes(new Map()), {});
  });
});

describe('a CSI volume', () => {
  it('that stands in the pod is ephemeral, with a handle of its own and a secret of the namespace', () => {
    const volume = { name: 'v', csi: { driver: 'd', readOnly: true, volumeAttributes: { a: 'b' }, nodePublishSecretRef: { name: 's' } } };
    const { handle, ...rest } = csiVolume(context({ volume }));
    assert.match(handle, /^csi-[0-9a-f]{64}$/);
    assert.deepEqual(rest, {
      name: 'v',
      driver: 'd',
      mode: 'Ephemeral',
      readOnly: true,
      fsType: '',
      attributes: { a: 'b' },
      accessModes: [],
      accessMode: 'ReadWriteOnce',
      mountOptions: [],
      stageSecret: undefined,
      publishSecret: { namespace: 'ns', name: 's' },
      expandSecret: undefined,
    });
  });

  it('of a PersistentVolume is read-only when the pod says so, and asked for in the first of its modes', () => {
    const pv = { metadata: { name: 'pv' }, spec: { accessModes: ['ReadOnlyMany', 'ReadWriteOnce'] } };
    const persistent = { claim: { namespace: 'ns', name: 'c', uid: 'c' }, pv };
    const volume = {
      name: 'pv',
      csi: { driver: 'd', volumeHandle: 'h', readOnly: true, nodeStageSecretRef: { namespace: 'x', name: 'y' } },
    };
    const found = csiVolume(context({ volume, persistent, mountOptions: ['ro'] }));
    assert.equal(found.mode, 'Persistent');
    assert.equal(found.readOnly, false);
    assert.equal(found.accessMode, 'ReadOnlyMany');
    assert.deepEqual(found.mountOptions, ['ro']);
    assert.deepEqual(found.stageSecret, { namespace: 'x', name: 'y' });
  });

  it('without driver or handle is refused', () => {
    assert.throws(() => csiVolume(context({ volume: { name: 'v', csi: {} } })), /names no driver/);
    const persistent = { claim: { namespace: 'ns', name: 'c', uid: 'c' }, pv: { metadata: { name: 'pv' }, spec: {} } };
    assert.throws(() => csiVolume(context({ volume: { name: 'v', csi: { driver: 'd' } }, persistent })), /no volumeHandle/);
  });
});

describe('the group of the files', () => {
  const volume = (more: Partial<CsiVolume> = {}): CsiVolume => ({
    ...csiVolume(context({ volume: { name: 'v', csi: { driver: 'd', fsType: 'ext4' } } })),
    mode: 'Persistent',
    accessModes: ['ReadWriteOnce'],
    ...more,
  });

  it('is changed as the policy of the CSIDriver says', () => {
    const cases: [CsiVolume, string | undefined, boolean][] = [
      [volume(), undefined, true],
      [volume({ fsType: '' }), undefined, false],
      [volume({ accessModes: ['ReadWriteMany'] }), undefined, false],
      [volume({ accessModes: ['ReadOnlyMany', 'ReadWriteOncePod'] }), 'ReadWriteOnceWithFSType', true],
      [volume({ mode: 'Ephemeral', accessModes: [] }), 'ReadWriteOnceWithFSType', true],
      [volume({ fsType: '', accessModes: ['ReadWriteMany'] }), 'File', true],
      [volume({ readOnly: true }), 'File', false],
      [volume(), 'None', false],
    ];
    for (const [v, fsGroupPolicy, expected] of cases) {
      assert.equal(
        changesGroup(v, 5, fsGroupPolicy === undefined ? undefined : { fsGroupPolicy }),
        expected,
        JSON.stringify([v, fsGroupPolicy]),
      );
      assert.equal(changesGroup(v, undefined, fsGroupPolicy === undefined ? undefined : { fsGroupPolicy }), false);
    }
    assert.throws(() => changesGroup(volume(), 5, {}), /has no fsGroupPolicy/);
  });

  it('a volume is of a kind that its driver serves', () => {
    const inline = volume({ mode: 'Ephemeral' });
    checkLifecycleMode(volume(), undefined);
    checkLifecycleMode(inline, ['Ephemeral']);
    assert.throws(() => checkLifecycleMode(inline, undefined), /"Ephemeral" not supported by driver d \(no CSIDriver object\)/);
    assert.throws(() => checkLifecycleMode(inline, ['Persistent']), /\(only supports \["Persistent"\]\)/);
    assert.throws(() => checkLifecycleMode(volume(), []), /"Persistent" not supported/);
  });
});

it('only an answer of the driver is final, and not one that leaves it at work', () => {
  const uncertain = ['Canceled', 'DeadlineExceeded', 'Unavailable', 'ResourceExhausted', 'Aborted'] as const;
  for (const code of uncertain) assert.equal(failureKind(new GrpcError(code, 'x', '')), 'uncertain');
  for (const code of ['Internal', 'InvalidArgument', 'NotFound', 'Unimplemented', 'Unknown', 'FailedPrecondition'] as const) {
    assert.equal(failureKind(new GrpcError(code, 'x', '')), 'final');
  }
  assert.equal(failureKind(new Error('before the call')), 'uncertain');
  assert.equal(isInfeasible(new GrpcError('OutOfRange', 'x', '')), true);
  assert.equal(isInfeasible(new GrpcError('Internal', 'x', '')), false);
});
