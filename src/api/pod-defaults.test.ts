import assert from 'node:assert/strict';
import test from 'node:test';
import { defaultPod } from './pod-defaults.ts';
import type { Pod } from './types.ts';

function defaulted(spec: object, status?: object): Pod {
  const pod = { metadata: { name: 'a' }, spec, ...(status && { status }) } as unknown as Pod;
  defaultPod(pod);
  return pod;
}

test('a negative grace becomes one second, none becomes thirty', () => {
  assert.equal(defaulted({ terminationGracePeriodSeconds: -5 }).spec.terminationGracePeriodSeconds, 1);
  assert.equal(defaulted({ terminationGracePeriodSeconds: 0 }).spec.terminationGracePeriodSeconds, 0);
  assert.equal(defaulted({}).spec.terminationGracePeriodSeconds, 30);
});

test('limits give the requests that are missing, in containers and init containers only', () => {
  const resources = () => ({ limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '500m' } });
  const { spec } = defaulted({
    containers: [{ resources: resources() }],
    initContainers: [{ resources: { limits: {} } }],
    ephemeralContainers: [{ resources: resources() }],
  });
  assert.deepEqual({ ...spec.containers[0]?.resources?.requests }, { cpu: '500m', memory: '1Gi' });
  assert.deepEqual({ ...spec.initContainers?.[0]?.resources?.requests }, {});
  assert.deepEqual(spec.ephemeralContainers?.[0]?.resources?.requests, { cpu: '500m' });
});

test('on the host network a port is its own host port', () => {
  const { spec } = defaulted({ hostNetwork: true, containers: [{ ports: [{ containerPort: 80 }, { containerPort: 81, hostPort: 82 }] }] });
  assert.deepEqual(spec.containers[0]?.ports, [
    { containerPort: 80, hostPort: 80, protocol: 'TCP' },
    { containerPort: 81, hostPort: 82, protocol: 'TCP' },
  ]);
});

test('a volume without a source is an emptyDir', () => {
  assert.deepEqual(defaulted({ volumes: [{ name: 'v' }] }).spec.volumes, [{ name: 'v', emptyDir: {} }]);
  assert.deepEqual(defaulted({ volumes: [{ name: 'v', hostPath: { path: '/' } }] }).spec.volumes, [
    { name: 'v', hostPath: { path: '/', type: '' } },
  ]);
});

test('the two service account fields follow each other', () => {
  assert.equal(defaulted({ serviceAccount: 's' }).spec.serviceAccountName, 's');
  const { spec } = defaulted({ serviceAccountName: 's', serviceAccount: 't' });
  assert.deepEqual([spec.serviceAccountName, (spec as unknown as Record<string, unknown>)['serviceAccount']], ['s', 's']);
  assert.equal('serviceAccount' in defaulted({}).spec, false);
});

test('the address of a status and the list of addresses follow each other', () => {
  assert.deepEqual(defaulted({}, { podIP: '1' }).status, { podIP: '1', podIPs: [{ ip: '1' }] });
  assert.deepEqual(defaulted({}, { podIPs: [{ ip: '1' }, { ip: '2' }] }).status?.podIP, '1');
  assert.deepEqual(defaulted({}, { podIP: '1', podIPs: [{ ip: '2' }] }).status?.podIPs, [{ ip: '1' }]);
});
