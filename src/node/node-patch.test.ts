import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { type JsonObject, strategicMergePatch } from '../../test/sim/apiserver-patch.ts';
import { nodeFacts, nodeIdentity } from '../../test/support/node-facts.ts';
import type { Node, NodeCondition } from '../kube/types.ts';
import { newNode } from './node-object.ts';
import { nodeChanged, nodePatch } from './node-patch.ts';
import { withStatus } from './status.ts';

const first: Node = { ...newNode(nodeIdentity(), nodeFacts()).node };
first.metadata = { ...first.metadata, uid: 'u' };
const later = '2026-01-01T00:00:10Z';

test('a heartbeat is no change, and its patch names the times only', () => {
  const { node } = withStatus(first, nodeFacts({ at: later }));
  assert.equal(nodeChanged(first, node), false);
  assert.deepEqual(nodePatch(first, node), {
    metadata: { uid: 'u' },
    status: {
      conditions: ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'].map((type) => ({ lastHeartbeatTime: later, type })),
    },
  });
  assert.equal(nodePatch(first, first), undefined);
});

test('a change names what differs and nothing else', () => {
  const { node } = withStatus(first, nodeFacts({ images: undefined, foundIPs: ['10.0.0.2'] }));
  assert.equal(nodeChanged(first, node), true);
  assert.deepEqual(nodePatch(first, node), {
    metadata: { uid: 'u' },
    status: { addresses: [{ type: 'InternalIP', address: '10.0.0.2' }, { type: 'Hostname', address: 'n1' }, { $patch: 'replace' }] },
  });
});

test('what is gone is named with null; labels too; empty and absent are the same', () => {
  const from: Node = {
    metadata: { name: 'n1', uid: 'u', labels: { a: '1', b: '2' } },
    status: { capacity: { cpu: '1', 'x.com/y': '2' }, images: [], volumesInUse: ['v'] },
  };
  const to: Node = { metadata: { name: 'n1', labels: { a: '1' }, annotations: {} }, status: { capacity: { cpu: '1' } } };
  assert.deepEqual(nodePatch(from, to), {
    metadata: { uid: 'u', labels: { b: null } },
    status: { capacity: { 'x.com/y': null }, volumesInUse: null },
  });
});

test('whatever the states, the server makes the one of the other', () => {
  const condition = fc.record({
    status: fc.constantFrom<NodeCondition['status']>('True', 'False', 'Unknown'),
    reason: fc.constantFrom('a', 'b'),
    lastHeartbeatTime: fc.constantFrom('1', '2'),
  });
  const status = fc.record(
    {
      capacity: fc.dictionary(fc.constantFrom('cpu', 'x.com/y'), fc.constantFrom('1', '2')),
      addresses: fc.array(fc.record({ type: fc.constantFrom('InternalIP', 'Hostname'), address: fc.constantFrom('1', '2') }), {
        maxLength: 3,
      }),
      images: fc.array(fc.record({ sizeBytes: fc.integer({ min: 1, max: 3 }) }), { maxLength: 2 }),
      ready: condition,
      other: condition,
    },
    { requiredKeys: ['ready', 'other', 'capacity', 'addresses', 'images'] },
  );
  const nodeOf = ({ ready, other, ...rest }: { ready: object; other: object }) =>
    ({
      metadata: { name: 'n1', uid: 'u' },
      status: {
        ...rest,
        conditions: [
          { type: 'Ready', ...ready },
          { type: 'Other', ...other },
        ],
      },
    }) as unknown as Node;
  const emptied = (node: unknown) =>
    JSON.parse(JSON.stringify(node, (_key, value: unknown) => (Array.isArray(value) && value.length === 0 ? undefined : value))) as unknown;
  fc.assert(
    fc.property(status, status, (a, b) => {
      const [from, to] = [nodeOf(a), nodeOf(b)];
      const patch = nodePatch(from, to);
      const merged = patch === undefined ? from : strategicMergePatch(from as unknown as JsonObject, patch as JsonObject);
      assert.deepEqual(emptied(merged), emptied(to));
    }),
  );
});
