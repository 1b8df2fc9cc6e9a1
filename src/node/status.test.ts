import assert from 'node:assert/strict';
import test from 'node:test';
import { nodeFacts, nodeInfo } from '../../test/support/node-facts.ts';
import type { Node } from '../kube/types.ts';
import { ProvidedNodeIpAnnotation, withStatus } from './status.ts';

const node = (status: Node['status'] = {}, annotations: Record<string, string> = {}): Node => ({
  metadata: { name: 'n1', uid: 'u', annotations },
  status,
});
const statusOf = (before: Node, over: Parameters<typeof nodeFacts>[0] = {}) => withStatus(before, nodeFacts(over)).node.status ?? {};

test('a status says what the machine is and has', () => {
  const status = statusOf(node());
  assert.deepEqual(status.addresses, [
    { type: 'InternalIP', address: '10.0.0.1' },
    { type: 'Hostname', address: 'n1' },
  ]);
  assert.deepEqual(status.capacity, { cpu: '2', memory: '4Gi', 'ephemeral-storage': '100G', 'hugepages-2Mi': '0', pods: '110' });
  assert.deepEqual(status.allocatable, { cpu: '1900m', memory: '3Gi', 'ephemeral-storage': '90G', 'hugepages-2Mi': '0', pods: '110' });
  assert.deepEqual(status.nodeInfo, nodeInfo);
  assert.deepEqual(status.daemonEndpoints, { kubeletEndpoint: { Port: 10250 } });
  assert.deepEqual(status.images, [{ names: ['i:1'], sizeBytes: 7 }]);
  assert.deepEqual(status.declaredFeatures, ['A', 'B']);
  assert.ok(!('runtimeHandlers' in status) && !('features' in status) && !('volumesInUse' in status));
});

test('two addresses are two InternalIPs, in one spelling; without any the old ones stay', () => {
  const status = statusOf(node(), { foundIPs: ['10.0.0.1', 'FD00:0::1'] });
  assert.deepEqual(
    status.addresses?.map((a) => a.address),
    ['10.0.0.1', 'fd00::1', 'n1'],
  );
  assert.deepEqual(statusOf(node(status), { foundIPs: [] }).addresses, status.addresses);
});

test("a cloud's node keeps the addresses of its cloud", () => {
  const cloudExternal = true;
  assert.deepEqual(statusOf(node(), { cloudExternal }).addresses, [{ type: 'Hostname', address: 'n1' }]);
  const given = { cloudExternal, givenIPs: ['10.0.0.9'], nodeIPGiven: true, foundIPs: ['10.0.0.9'] };
  const first = withStatus(node(), nodeFacts(given)).node;
  assert.equal(first.status?.addresses?.[0]?.address, '10.0.0.9');
  assert.equal(first.metadata.annotations?.[ProvidedNodeIpAnnotation], '10.0.0.9');
  const external = [{ type: 'ExternalIP' as const, address: '1.2.3.4' }];
  assert.deepEqual(statusOf(node({ addresses: external }), given).addresses, external);
  // No longer a cloud's: the annotation goes.
  const left = withStatus(first, nodeFacts({ givenIPs: ['10.0.0.9'] })).node;
  assert.ok(!(ProvidedNodeIpAnnotation in (left.metadata.annotations ?? {})));
});

test('resources that others advertise stay and are allocatable whole; sizes of pages that are gone go', () => {
  const status = statusOf(
    node({
      capacity: { cpu: '9', 'example.com/foo': '5', 'hugepages-1Gi': '1Gi' },
      allocatable: { cpu: '9', 'example.com/gone': '1', 'hugepages-1Gi': '1Gi' },
    }),
  );
  assert.equal(status.capacity?.['cpu'], '2');
  assert.equal(status.capacity?.['example.com/foo'], '5');
  assert.equal(status.allocatable?.['example.com/foo'], '5');
  for (const name of ['example.com/gone', 'hugepages-1Gi']) {
    assert.ok(!(name in (status.capacity ?? {})));
    assert.ok(!(name in (status.allocatable ?? {})));
  }
});

test('devices come from their plugins; a plugin that left leaves a zero', () => {
  const devices = { capacity: { 'a.com/x': '4' }, allocatable: { 'a.com/x': '3' }, removed: ['a.com/y'] };
  const status = statusOf(node({ capacity: { 'a.com/y': '2' }, allocatable: { 'a.com/y': '2' } }), { devices });
  assert.deepEqual([status.capacity?.['a.com/x'], status.allocatable?.['a.com/x']], ['4', '3']);
  assert.deepEqual([status.capacity?.['a.com/y'], status.allocatable?.['a.com/y']], ['0', '0']);
});

test('a capacity that is missing keeps the node from being Ready', () => {
  const { capacity } = nodeFacts();
  const without = new Map([...capacity].filter(([name]) => name !== 'ephemeral-storage' && name !== 'cpu'));
  const ready = statusOf(node(), { capacity: without, allocatable: without, notReady: ['a'] }).conditions?.at(-1);
  assert.equal(ready?.message, '[a, missing node capacity for resources: cpu, ephemeral-storage]');
  const fine = new Map([...capacity].filter(([name]) => name !== 'ephemeral-storage'));
  assert.equal(
    statusOf(node(), { capacity: fine, allocatable: fine, localStorageCapacityIsolation: false }).conditions?.at(-1)?.status,
    'True',
  );
});

test('what the runtime offers is shown, names that are empty left out', () => {
  const status = statusOf(node(), {
    runtimeHandlers: [{ name: '' }, { name: 'kata', features: { recursiveReadOnlyMounts: true, userNamespaces: false } }],
    features: { supplementalGroupsPolicy: true },
  });
  assert.deepEqual(status.runtimeHandlers, [
    { features: { recursiveReadOnlyMounts: false, userNamespaces: false } },
    { name: 'kata', features: { recursiveReadOnlyMounts: true, userNamespaces: false } },
  ]);
  assert.deepEqual(status.features, { supplementalGroupsPolicy: true });
  assert.ok(!('runtimeHandlers' in statusOf(node(status))));
});

test('another boot is told, a first one is not; foreign fields stay', () => {
  const reasons = (bootID: string) =>
    withStatus(node({ nodeInfo: { ...nodeInfo, bootID } }), nodeFacts()).notes.filter((n) => n.reason === 'Rebooted');
  assert.deepEqual(reasons('boot-0'), [{ type: 'Warning', reason: 'Rebooted', message: 'Node n1 has been rebooted, boot id: boot-1' }]);
  assert.deepEqual(reasons('boot-1'), []);
  assert.deepEqual(reasons(''), []);
  const volumesAttached = [{ name: 'v', devicePath: '/dev/x' }];
  assert.deepEqual(statusOf(node({ volumesAttached })).volumesAttached, volumesAttached);
});

test('images and volumes in use that are not known now stay as they were', () => {
  const before = node({ images: [{ names: ['old'] }], volumesInUse: ['v'] });
  assert.deepEqual(statusOf(before, { images: undefined }).images, [{ names: ['old'] }]);
  assert.deepEqual(statusOf(before).volumesInUse, ['v']);
  assert.ok(!('volumesInUse' in statusOf(before, { volumesInUse: [] })));
  assert.ok(!('images' in statusOf(before, { images: [] })));
});
