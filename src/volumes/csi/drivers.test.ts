import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemClock } from '../../host/clock.ts';
import { csiAccessMode } from './access-mode.ts';
import { CsiDrivers } from './drivers.ts';
import { attachmentName, ephemeralHandle, stagingPath, uniqueVolumeName } from './names.ts';
import { compareVersions, highestVersion } from './versions.ts';

describe('versions of a driver', () => {
  it('are compared by their numbers', () => {
    assert.ok(compareVersions('1.10.0', '1.9.9') > 0);
    assert.equal(compareVersions('v1.0', '1.0.0'), 0);
    assert.ok(compareVersions('nonsense', '0.0.1') < 0);
  });

  it('the newest of CSI 1 counts', () => {
    assert.equal(highestVersion(['0.3.0', '1.2.0', '1.10.1', '2.0.0']), '1.10.1');
    assert.equal(highestVersion(['0.3.0', '2.0.0', 'x', '01.0.0']), undefined);
  });

  it('decide whether another driver of the name is taken', () => {
    const drivers = new CsiDrivers(systemClock, { called: () => {} });
    assert.throws(() => drivers.check('ValidatePlugin', 'd', []), /empty list for supported versions/);
    assert.throws(() => drivers.check('ValidatePlugin', 'd', ['0.9.0']), /None of the versions specified \[0\.9\.0\] are supported/);
    drivers.add('d', { endpoint: '/a', version: drivers.check('RegisterPlugin', 'd', ['1.1.0']) });
    assert.throws(() => drivers.check('ValidatePlugin', 'd', ['1.1.0']), /already registered with a higher supported version: "1\.1\.0"/);
    assert.equal(drivers.check('ValidatePlugin', 'd', ['1.2.0']), '1.2.0');
    drivers.add('d', { endpoint: '/b', version: '1.2.0' });
    // The old one's socket goes after the new one came.
    drivers.remove('d', '/a');
    assert.equal(drivers.has('d'), true);
    drivers.remove('d', '/b');
    assert.equal(drivers.has('d'), false);
  });
});

it('access modes are those of the driver that tells pods from nodes, where it does', () => {
  const modes = ['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOncePod', 'Other'];
  assert.deepEqual(
    modes.map((mode) => csiAccessMode(mode, false)),
    ['SINGLE_NODE_WRITER', 'MULTI_NODE_READER_ONLY', 'MULTI_NODE_MULTI_WRITER', 'SINGLE_NODE_WRITER', 'UNKNOWN'],
  );
  assert.deepEqual(
    modes.map((mode) => csiAccessMode(mode, true)),
    ['SINGLE_NODE_MULTI_WRITER', 'MULTI_NODE_READER_ONLY', 'MULTI_NODE_MULTI_WRITER', 'SINGLE_NODE_SINGLE_WRITER', 'UNKNOWN'],
  );
});

describe('names', () => {
  // sha256 by coreutils.
  it('are those of the real kubelet', () => {
    assert.equal(attachmentName('vol', 'drv', 'node'), 'csi-75c705103da62dcfbf1148483950b24857cb1ef40a66c9b95b65683f00dbc90a');
    assert.equal(ephemeralHandle('uid', 'v'), 'csi-805993d7c078d84a6cd26549afcb8ef6e4eefee1458b1f9ebaf9d6996efbf3e5');
    assert.equal(
      stagingPath('/r', 'd', 'h'),
      '/r/plugins/kubernetes.io/csi/d/aaa9402664f1a41f40ebbc52c9993eb66aeb366602958fdfaa283b71e64db123/globalmount',
    );
    assert.equal(uniqueVolumeName('d', 'h'), 'kubernetes.io/csi/d^h');
  });

  it('never lead out of the plug-in directory', () => {
    for (const driver of ['..', 'a/b', '', '.']) assert.throws(() => stagingPath('/r', driver, 'h'), /cannot be the name of a directory/);
    assert.throws(() => stagingPath('/r', 'd', ''), /no volume handle/);
  });
});
