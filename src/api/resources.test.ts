import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { computePodQOS, getPodQOS } from './qos.ts';
import { aggregateContainerRequests, podLimits, podRequests, quantityOf, toResourceList } from './resources.ts';
import type { Container, Pod } from './types.ts';

const container = (name: string, cpu: number, restartPolicy?: string): Container => ({
  name,
  resources: { requests: { cpu: `${cpu}m` } },
  ...(restartPolicy === undefined ? {} : { restartPolicy }),
});
const podOf = (spec: Partial<Pod['spec']>): Pod => ({
  metadata: { name: 'p', namespace: 'n', uid: 'u' },
  spec: { containers: [], ...spec },
});
const cpu = fc.integer({ min: 0, max: 5000 });
const milli = (pod: Pod): number => Number(podRequests(pod).get('cpu')?.milliValue() ?? 0n);

test('containers add up, init containers raise the sum, sidecars count beside both', () => {
  fc.assert(
    fc.property(fc.array(cpu), fc.array(fc.record({ cpu, sidecar: fc.boolean() })), (regular, init) => {
      const pod = podOf({
        containers: regular.map((n, i) => container(`c${i}`, n)),
        initContainers: init.map((c, i) => container(`i${i}`, c.cpu, c.sidecar ? 'Always' : undefined)),
      });
      const running = [...regular, ...init.filter((c) => c.sidecar).map((c) => c.cpu)].reduce((a, b) => a + b, 0);
      let sidecars = 0;
      let starting = 0;
      for (const c of init) {
        starting = Math.max(starting, sidecars + c.cpu);
        if (c.sidecar) sidecars += c.cpu;
      }
      assert.equal(milli(pod), Math.max(running, starting));
    }),
  );
});

test('pod-level requests replace the sum, and overhead comes on top', () => {
  const pod = podOf({
    containers: [container('c', 100)],
    resources: { requests: { cpu: '2', 'example.com/x': '1' } },
    overhead: { cpu: '250m' },
  });
  assert.deepEqual(toResourceList(podRequests(pod)), { cpu: '2250m' });
  assert.deepEqual(toResourceList(podRequests(pod, { excludeOverhead: true, skipPodLevel: true })), { cpu: '100m' });
});

test('overhead is added only to limits that are not zero', () => {
  const limited: Container = { name: 'c', resources: { limits: { cpu: '1', memory: '0' } } };
  assert.deepEqual(toResourceList(podLimits(podOf({ containers: [limited], overhead: { cpu: '1', memory: '1', disk: '1' } }))), {
    cpu: '2',
    memory: '0',
  });
});

test('a resize counts the greater of spec and what is in force', () => {
  const pod: Pod = { ...podOf({ containers: [container('c', 1000)] }) };
  const status = { name: 'c', ready: true, restartCount: 0, image: '', imageID: '', allocatedResources: { cpu: '3' } };
  pod.status = { containerStatuses: [status] };
  assert.deepEqual(toResourceList(aggregateContainerRequests(pod, { useStatus: true })), { cpu: '3' });
  assert.deepEqual(toResourceList(aggregateContainerRequests(pod)), { cpu: '1' });
});

test('a name of Object.prototype is no resource', () => {
  assert.ok(quantityOf({}, 'constructor').isZero());
  assert.ok(quantityOf(undefined, 'cpu').isZero());
});

test('QoS: the status is believed, else it is computed', () => {
  const full = { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1000m', memory: '1024Mi' } };
  const guaranteed = podOf({ containers: [{ name: 'c', resources: full }] });
  assert.equal(computePodQOS(guaranteed), 'Guaranteed');
  assert.equal(getPodQOS({ ...guaranteed, status: { qosClass: 'BestEffort' } }), 'BestEffort');
  assert.equal(computePodQOS(podOf({ containers: [{ name: 'c', resources: full }, { name: 'd' }] })), 'Burstable');
  assert.equal(computePodQOS(podOf({ containers: [{ name: 'c' }] })), 'BestEffort');
});
