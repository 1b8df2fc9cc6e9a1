import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isOwnedBy, newCsiNode, nodeIdAnnotation, topologyLabels, withDriver, withMigratedPlugins, withoutDriver } from './csi-node.ts';

const info = (nodeId: string, maxVolumes = 0, topology: Record<string, string> = {}) => ({ nodeId, maxVolumes, topology });

describe('the CSINode', () => {
  it('belongs to its Node and names the plug-ins that are served by drivers', () => {
    const made = newCsiNode('n', 'uid-1');
    assert.deepEqual(made.metadata.ownerReferences, [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'uid-1' }]);
    assert.equal(isOwnedBy(made, 'n', 'uid-1'), true);
    assert.equal(isOwnedBy(made, 'n', 'uid-2'), false);
    assert.match(
      made.metadata.annotations?.['storage.alpha.kubernetes.io/migrated-plugins'] ?? '',
      /^kubernetes\.io\/aws-ebs,.*vsphere-volume$/,
    );
    assert.equal(withMigratedPlugins(made), made);
  });

  it('holds each driver once, and is left alone where nothing changed', () => {
    const empty = newCsiNode('n', 'u');
    const one = withDriver(empty, 'a', info('id', 5, { 'z/b': '1', 'z/a': '2' }));
    assert.deepEqual(one.spec.drivers, [{ name: 'a', nodeID: 'id', topologyKeys: ['z/a', 'z/b'], allocatable: { count: 5 } }]);
    assert.equal(withDriver(one, 'a', info('id', 5, { 'z/a': '9', 'z/b': '1' })), one);
    const two = withDriver(withDriver(one, 'b', info('x')), 'a', info('id', 6, {}));
    assert.deepEqual(
      two.spec.drivers?.map(({ name, allocatable }) => [name, allocatable?.count]),
      [
        ['b', undefined],
        ['a', 6],
      ],
    );
    assert.equal(withoutDriver(two, 'c'), two);
    assert.deepEqual(withoutDriver(withoutDriver(two, 'a'), 'b').spec.drivers, []);
  });

  it('takes no limit from a number that is none', () => {
    for (const [told, count] of [
      [0, undefined],
      [-3, undefined],
      [2 ** 40, 0x7fff_ffff],
    ] as const) {
      assert.equal(withDriver(newCsiNode('n', 'u'), 'a', info('id', told)).spec.drivers?.[0]?.allocatable?.count, count);
    }
  });

  it('reads what the API server makes of empty lists', () => {
    const read = { ...newCsiNode('n', 'u'), spec: { drivers: null } };
    assert.equal(withoutDriver(read, 'a'), read);
    assert.equal(withDriver(read, 'a', info('id')).spec.drivers?.length, 1);
  });
});

describe('the annotation of the Node', () => {
  it('maps drivers to their names for the node', () => {
    const one = nodeIdAnnotation(undefined, 'b', 'n1');
    assert.equal(one, '{"b":"n1"}');
    assert.equal(nodeIdAnnotation(one ?? undefined, 'b', 'n1'), undefined);
    const two = nodeIdAnnotation(one ?? undefined, 'a', 'n2');
    assert.equal(two, '{"a":"n2","b":"n1"}');
    assert.equal(nodeIdAnnotation(two ?? undefined, 'b', undefined), '{"a":"n2"}');
    assert.equal(nodeIdAnnotation('{"a":"n2"}', 'a', undefined), null);
    assert.equal(nodeIdAnnotation(undefined, 'a', undefined), undefined);
  });

  it('keeps every other driver, whatever the names are', () => {
    const name = fc.string({ minLength: 1 });
    fc.assert(
      fc.property(fc.dictionary(name, fc.string()), name, fc.string(), (before, driver, id) => {
        const text = nodeIdAnnotation(JSON.stringify(before), driver, id);
        const after = new Map(Object.entries(JSON.parse(text ?? JSON.stringify(before)) as Record<string, string>));
        assert.equal(after.get(driver), id.toWellFormed());
        for (const [key, value] of Object.entries(before))
          if (key !== driver) assert.equal(after.get(key.toWellFormed()), value.toWellFormed());
      }),
    );
  });

  it('is not overwritten when it is something else', () => {
    for (const text of ['{', '[]', '{"a":1}', '"x"']) assert.throws(() => nodeIdAnnotation(text, 'a', 'b'), /is no JSON object of texts/);
  });
});

describe('topology labels', () => {
  it('are added, and never changed', () => {
    assert.deepEqual(topologyLabels({ a: '1' }, { a: '1', b: '2' }), { b: '2' });
    assert.deepEqual(topologyLabels(undefined, {}), {});
    assert.throws(
      () => topologyLabels({ a: '1' }, { a: '2' }),
      /topology value collision: driver reported "a":"2" but existing label is "a":"1"/,
    );
  });
});
