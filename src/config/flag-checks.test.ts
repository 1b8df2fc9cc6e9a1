import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatFault } from './errors.ts';
import { checkFlags } from './flag-checks.ts';
import { parseFlags } from './flags.ts';

const refused = (...argv: string[]): string[] => checkFlags(parseFlags(argv).flags).map(formatFault);

test('node labels', () => {
  assert.deepEqual(
    refused('--node-labels=a=b,example.com/x=,node.kubernetes.io/y=1,x.kubelet.kubernetes.io/y=1,kubernetes.io/os=linux'),
    [],
  );
  assert.match(
    refused('--node-labels=kubernetes.io/foo=1')[0] ?? '',
    /^--node-labels: "kubernetes\.io\/foo": labels under .* are reserved \(allowed/,
  );
  assert.equal(refused('--node-labels=foo.k8s.io/x=1,notk8s.io/x=1').length, 1);
  assert.equal(refused('--node-labels=-a=1').length, 1);
  assert.equal(refused('--node-labels=a=-b').length, 1);
});

test('addresses of the node', () => {
  for (const ip of ['10.0.0.1', 'fd00::1', '10.0.0.1,fd00::1', '::', '0.0.0.0']) assert.deepEqual(refused(`--node-ip=${ip}`), [], ip);
  for (const ip of [
    'x',
    '127.0.0.1',
    '::1',
    '169.254.1.1',
    'fe80::1',
    '224.0.0.1',
    'ff02::1',
    '10.0.0.1,10.0.0.2',
    '10.0.0.1,::',
    '1.1.1.1,fd00::1,fd00::2',
  ]) {
    assert.equal(refused(`--node-ip=${ip}`).length, 1, ip);
  }
});

test('flags that need each other', () => {
  assert.equal(refused('--exit-on-lock-contention').length, 1);
  assert.equal(refused('--exit-on-lock-contention', '--lock-file=/x').length, 0);
  assert.equal(refused('--image-credential-provider-config=/x').length, 1);
  assert.equal(refused('--image-credential-provider-bin-dir=/x').length, 1);
  assert.equal(refused('--cloud-provider=aws').length, 1);
  assert.equal(refused('--cloud-provider=external').length, 0);
  assert.equal(refused('--hostname-override= ').length, 1);
});
