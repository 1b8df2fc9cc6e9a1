import assert from 'node:assert/strict';
import test from 'node:test';
import { parseClusterOptions } from '../cluster/options.ts';
import { parseConformanceOptions } from './options.ts';

const conformance = (...args: string[]) => parseConformanceOptions(args, '/project');
const cluster = (...args: string[]) => parseClusterOptions(args, '/project');

test('conformance: areas, focus and kubelet', () => {
  const plain = conformance();
  assert.ok(plain !== 'help' && plain.own && plain.areas.length === 0 && plain.kubelet === '/project/bin/kubelet-ts');
  const areas = conformance('--area', 'pods, lease', '--area', 'secrets', '--kubelet', '/x');
  assert.ok(areas !== 'help' && !areas.own && areas.kubelet === '/x');
  assert.deepEqual(areas.areas, ['pods', 'lease', 'secrets']);
  const focus = conformance('--focus', 'etc.hosts');
  assert.ok(focus !== 'help' && focus.focus?.test('/etc/hosts'));
  assert.equal(conformance('--help'), 'help');
  assert.throws(() => conformance('--area', 'pods', '--focus', 'x'), /cannot stand together/);
  assert.throws(() => conformance('--procs', '0'), /--procs 0/);
  assert.throws(() => conformance('--focus', '('), /regular expression/i);
  assert.throws(() => conformance('pods'));
});

test('cluster: nodes, check and kubelet', () => {
  assert.deepEqual(cluster(), { nodes: 1, check: false, kubelet: '/project/bin/kubelet-ts' });
  assert.deepEqual(cluster('--nodes', '2', '--check', '--kubelet', '/x'), { nodes: 2, check: true, kubelet: '/x' });
  assert.throws(() => cluster('--nodes', '9'), /from 1 to 8/);
  assert.throws(() => cluster('--node', '1'));
  assert.equal(cluster('-h'), 'help');
});
