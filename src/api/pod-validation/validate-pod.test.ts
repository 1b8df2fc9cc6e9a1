import assert from 'node:assert/strict';
import test from 'node:test';
import { defaultPod } from '../pod-defaults.ts';
import type { Pod } from '../types.ts';
import { validatePod } from './validate-pod.ts';

/** A pod with one container; what is given comes on top of it. */
function fields(spec: object, container: object = {}, metadata: object = {}): string[] {
  const pod = {
    metadata: { name: 'a', namespace: 'default', ...metadata },
    spec: { containers: [{ name: 'c', image: 'x', ...container }], ...spec },
  } as unknown as Pod;
  defaultPod(pod);
  return validatePod(pod).map(({ field }) => field);
}

test('a plain pod is sound', () => {
  assert.deepEqual(fields({}), []);
});

test('profiles cannot lead out of the directory of profiles, and an empty one is none (CVE-2023-2431)', () => {
  const seccomp = (localhostProfile: string | undefined, type = 'Localhost') =>
    fields({ securityContext: { seccompProfile: { type, ...(localhostProfile === undefined ? {} : { localhostProfile }) } } });
  assert.deepEqual(seccomp('a/b.json'), []);
  for (const bad of ['/abs', '../up', 'a/../b', undefined])
    assert.deepEqual(seccomp(bad), ['spec.securityContext.seccompProfile.localhostProfile']);
  assert.deepEqual(seccomp('a', 'RuntimeDefault'), ['spec.securityContext.seccompProfile.localhostProfile']);
  assert.deepEqual(seccomp(undefined, 'Other'), ['spec.securityContext.seccompProfile.type']);
  const apparmor = (localhostProfile: string) =>
    fields({}, { securityContext: { appArmorProfile: { type: 'Localhost', localhostProfile } } });
  assert.deepEqual(apparmor('p'), []);
  for (const bad of ['', ' p', 'p\n'])
    assert.deepEqual(apparmor(bad), ['spec.containers[0].securityContext.appArmorProfile.localhostProfile']);
});

test('a profile of an annotation and that of the field are the same', () => {
  const annotations = { 'seccomp.security.alpha.kubernetes.io/pod': 'unconfined' };
  const securityContext = { seccompProfile: { type: 'RuntimeDefault' } };
  assert.deepEqual(fields({ securityContext }, {}, { annotations }), ['spec.securityContext.seccompProfile.type']);
});

test('kernel parameters: grammar, duplicates, and the namespaces of the host', () => {
  const sysctls = (...names: string[]) => ({ securityContext: { sysctls: names.map((name) => ({ name, value: '1' })) } });
  assert.deepEqual(fields(sysctls('net.core.somaxconn', 'net/ipv4/tcp_syncookies')), []);
  for (const bad of ['a+b', 'kernel..x', '', 'Kernel.x', 'kernel.x=1'])
    assert.deepEqual(fields(sysctls(bad)), ['spec.securityContext.sysctls[0].name'], bad);
  assert.deepEqual(fields(sysctls('a.b', 'a.b')), ['spec.securityContext.sysctls[1].name']);
  assert.deepEqual(fields({ hostNetwork: true, ...sysctls('net.core.somaxconn') }), ['spec.securityContext.sysctls[0].name']);
  assert.deepEqual(fields({ hostIPC: true, ...sysctls('kernel/shmmax') }), ['spec.securityContext.sysctls[0].name']);
});

test('paths of mounts stay below their volume', () => {
  const mount = (more: object) =>
    fields({ volumes: [{ name: 'v', emptyDir: {} }] }, { volumeMounts: [{ name: 'v', mountPath: '/v', ...more }] });
  assert.deepEqual(mount({ subPath: 'a/b' }), []);
  for (const bad of ['../a', 'a/..', '/a']) assert.deepEqual(mount({ subPath: bad }), ['spec.containers[0].volumeMounts.subPath'], bad);
  assert.deepEqual(mount({ mountPropagation: 'Bidirectional' }), ['spec.containers[0].volumeMounts.mountPropagation']);
  assert.deepEqual(fields({}, { volumeMounts: [{ name: 'v', mountPath: '/v' }] }), ['spec.containers[0].volumeMounts[0].name']);
});

test('a mount of a volume with a fault has no volume', () => {
  const volumes = [{ name: 'v', hostPath: { path: '../x' } }];
  assert.deepEqual(fields({ volumes }, { volumeMounts: [{ name: 'v', mountPath: '/v' }] }), [
    'spec.volumes[0].hostPath.path',
    'spec.containers[0].volumeMounts[0].name',
  ]);
});

test('names of variables hold no control character, equals sign or other script', () => {
  for (const bad of ['', 'A=B', 'A\nB', 'A\0', 'Ä', 'A\x7f'])
    assert.deepEqual(fields({}, { env: [{ name: bad }] }), ['spec.containers[0].env[0].name'], JSON.stringify(bad));
  assert.deepEqual(fields({}, { env: [{ name: 'a.b-c d' }] }), []);
});

test('names that are given twice', () => {
  const volumes = [
    { name: 'v', emptyDir: {} },
    { name: 'v', emptyDir: {} },
  ];
  assert.deepEqual(fields({ volumes }), ['spec.volumes[1].name']);
  const c = { name: 'c', image: 'x' };
  assert.deepEqual(fields({ initContainers: [c] }), ['spec.initContainers[0].name']);
  assert.deepEqual(fields({ containers: [c, c] }), ['spec.containers[1].name']);
  const ports = [
    { containerPort: 80, hostPort: 80 },
    { containerPort: 81, hostPort: 80 },
  ];
  assert.deepEqual(fields({}, { ports }), ['spec.containers[0].ports[1].hostPort']);
});

test('requests, limits and kinds of resources', () => {
  const resources = (value: object) => fields({}, { resources: value });
  assert.deepEqual(resources({ limits: { cpu: '1' }, requests: { cpu: '2' } }), ['spec.containers[0].resources.requests']);
  assert.deepEqual(resources({ limits: { cpu: '-1' }, requests: { cpu: '-2' } }).sort(), [
    'spec.containers[0].resources.limits[cpu]',
    'spec.containers[0].resources.requests[cpu]',
  ]);
  assert.deepEqual(resources({ limits: { gpu: '1' } }).length, 4);
  assert.deepEqual(resources({ requests: { 'a.b/gpu': '1' } }), ['spec.containers[0].resources.limits']);
  assert.deepEqual(resources({ limits: { 'a.b/gpu': '1500m' } }).length, 2);
  assert.deepEqual(resources({ limits: { 'hugepages-2Mi': '3Mi', cpu: '1' } }).length, 2);
});

test('probes and hooks', () => {
  const probe = (livenessProbe: object) => fields({}, { livenessProbe });
  assert.deepEqual(probe({ httpGet: { port: 80 } }), []);
  assert.deepEqual(probe({}), ['spec.containers[0].livenessProbe']);
  assert.deepEqual(probe({ exec: { command: ['a'] }, httpGet: { port: 80 } }), ['spec.containers[0].livenessProbe.httpGet']);
  assert.deepEqual(probe({ tcpSocket: { port: 'a--b' } }), ['spec.containers[0].livenessProbe.tcpSocket.port']);
  assert.deepEqual(probe({ exec: { command: ['a'] }, successThreshold: 2 }), ['spec.containers[0].livenessProbe.successThreshold']);
  assert.deepEqual(fields({ terminationGracePeriodSeconds: 5 }, { lifecycle: { preStop: { sleep: { seconds: 6 } } } }), [
    'spec.containers[0].lifecycle.preStop.sleep',
  ]);
});

test('DNS', () => {
  assert.deepEqual(fields({ dnsPolicy: 'None' }), ['spec.dnsConfig']);
  assert.deepEqual(fields({ dnsPolicy: 'None', dnsConfig: {} }), ['spec.dnsConfig.nameservers']);
  assert.deepEqual(fields({ dnsConfig: { nameservers: ['010.0.0.1', '::ffff:1.2.3.4', 'x', '::1'] } }), [
    'spec.dnsConfig.nameservers',
    'spec.dnsConfig.nameservers[0]',
    'spec.dnsConfig.nameservers[1]',
    'spec.dnsConfig.nameservers[2]',
  ]);
  assert.deepEqual(fields({ dnsConfig: { searches: ['.', '_a.b.', 'A.b'] } }), ['spec.dnsConfig.searches[2]']);
});

test('lengths count bytes', () => {
  assert.deepEqual(fields({}, {}, { name: 'n'.repeat(253) }), []);
  assert.deepEqual(fields({}, {}, { name: 'n'.repeat(254) }), ['metadata.name']);
  assert.deepEqual(fields({}, {}, { annotations: { a: 'é'.repeat(131_072) } }), ['metadata.annotations']);
});
