import assert from 'node:assert/strict';
import test from 'node:test';
import { nodeFacts, nodeIdentity } from '../../test/support/node-facts.ts';
import type { Node } from '../kube/types.ts';
import { AttachDetachAnnotation, newNode, reconciledNode, withRequiredLabels } from './node-object.ts';

const defaults = {
  'kubernetes.io/hostname': 'n1',
  'kubernetes.io/os': 'linux',
  'kubernetes.io/arch': 'amd64',
  'beta.kubernetes.io/os': 'linux',
  'beta.kubernetes.io/arch': 'amd64',
};

test('a new node has default labels, the given ones win; taints, provider and annotation are of the configuration', () => {
  const { node } = newNode(
    nodeIdentity({
      labels: { team: 'a', 'kubernetes.io/hostname': 'other' },
      registerWithTaints: [{ key: 'k', value: 'v', effect: 'NoSchedule' }],
      providerID: 'x://1',
    }),
    nodeFacts(),
  );
  assert.deepEqual(node.metadata.labels, { ...defaults, 'kubernetes.io/hostname': 'other', team: 'a' });
  assert.deepEqual(node.spec, { taints: [{ key: 'k', value: 'v', effect: 'NoSchedule' }], providerID: 'x://1' });
  assert.deepEqual(node.metadata.annotations, { [AttachDetachAnnotation]: 'true' });
  assert.equal(node.status?.conditions?.length, 4);
});

test('a node of an external cloud waits for it with a taint', () => {
  const { node } = newNode(nodeIdentity({ cloudExternal: true, enableControllerAttachDetach: false }), nodeFacts({ cloudExternal: true }));
  assert.deepEqual(node.spec, { taints: [{ key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' }] });
  assert.ok(!('annotations' in node.metadata));
});

test('a plain node has an empty spec', () => {
  assert.deepEqual(newNode(nodeIdentity(), nodeFacts()).node.spec, {});
});

test('a node that exists keeps labels and taints of others; default labels and the annotation are put right', () => {
  const existing: Node = {
    metadata: {
      name: 'n1',
      uid: 'u',
      labels: { 'kubernetes.io/hostname': 'old', 'topology.kubernetes.io/zone': 'z1', team: 'mine' },
      annotations: { mine: 'x' },
    },
    spec: { taints: [{ key: 'mine', effect: 'NoSchedule' }], unschedulable: true },
  };
  const identity = nodeIdentity({ labels: { team: 'a', new: 'b', 'topology.kubernetes.io/zone': '' } });
  const { node } = reconciledNode(existing, identity, nodeFacts());
  // Labels of --node-labels that are no default ones are set when the node is created, and never again.
  assert.deepEqual(node.metadata.labels, { ...defaults, team: 'mine' });
  assert.deepEqual(node.metadata.annotations, { mine: 'x', [AttachDetachAnnotation]: 'true' });
  assert.deepEqual(node.spec, existing.spec);
  assert.equal(node.status?.nodeInfo?.bootID, 'boot-1');
  const without = reconciledNode(node, nodeIdentity({ enableControllerAttachDetach: false }), nodeFacts()).node;
  assert.deepEqual(without.metadata.annotations, { mine: 'x' });
});

test('extended resources of a node whose devices are not known any more are zeroed', () => {
  const list = { 'a.com/x': '4', 'hugepages-2Mi': '2Mi' };
  const existing: Node = { metadata: { name: 'n1' }, status: { capacity: list, allocatable: list } };
  const status = (zero: boolean) => reconciledNode(existing, nodeIdentity(), nodeFacts(), zero).node.status;
  assert.deepEqual([status(true)?.capacity?.['a.com/x'], status(true)?.allocatable?.['a.com/x']], ['0', '0']);
  assert.deepEqual([status(false)?.capacity?.['a.com/x'], status(false)?.allocatable?.['a.com/x']], ['4', '4']);
  assert.equal(status(false)?.capacity?.['hugepages-2Mi'], '0', 'the machine knows its pages');
});

test('the labels of system and architecture are put back at every status', () => {
  const node: Node = { metadata: { name: 'n1', labels: { a: 'b' } } };
  const fixed = withRequiredLabels(node, nodeIdentity());
  assert.deepEqual(fixed.metadata.labels, { a: 'b', 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64' });
  assert.equal(withRequiredLabels(fixed, nodeIdentity()), fixed);
});
