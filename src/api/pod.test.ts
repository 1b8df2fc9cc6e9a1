import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatContainerId, isEmptyContainerId, parseContainerId } from './container-id.ts';
import { basePath, cleanPath, joinPath } from './path.ts';
import {
  allContainers,
  containerFieldPath,
  findContainer,
  formatPod,
  isCriticalPod,
  isMirrorPod,
  isNodeCriticalPod,
  isStaticPod,
  parsePodFullName,
  podFullName,
} from './pod.ts';
import type { Pod } from './types.ts';

const podWith = (annotations: Record<string, string>, spec: Partial<Pod['spec']> = {}): Pod => ({
  metadata: { name: 'web', namespace: 'ns', uid: 'u1', annotations },
  spec: { containers: [], ...spec },
});

test('names', () => {
  assert.equal(podFullName(podWith({})), 'web_ns');
  assert.equal(formatPod(podWith({})), 'web_ns(u1)');
  assert.deepEqual(parsePodFullName('web_ns'), { name: 'web', namespace: 'ns' });
  for (const bad of ['web', 'web_', '_ns', 'web_n_s', '']) assert.equal(parsePodFullName(bad), undefined);
});

test('static, mirror and critical pods', () => {
  assert.equal(isStaticPod(podWith({ 'kubernetes.io/config.source': 'file' })), true);
  assert.equal(isStaticPod(podWith({ 'kubernetes.io/config.source': 'api' })), false);
  assert.equal(isStaticPod(podWith({})), false);
  assert.equal(isMirrorPod(podWith({ 'kubernetes.io/config.mirror': '' })), true);
  assert.equal(isCriticalPod(podWith({}, { priority: 2_000_000_000 })), true);
  assert.equal(isCriticalPod(podWith({}, { priority: 1_999_999_999 })), false);
  assert.equal(isNodeCriticalPod(podWith({}, { priorityClassName: 'system-node-critical' })), false);
  assert.equal(isNodeCriticalPod(podWith({ 'kubernetes.io/config.source': 'http' }, { priorityClassName: 'system-node-critical' })), true);
});

test('containers in order, with their field paths', () => {
  const pod = podWith(
    {},
    { initContainers: [{ name: 'i' }], containers: [{ name: 'c' }, { name: '' }], ephemeralContainers: [{ name: 'e' }] },
  );
  assert.deepEqual([...allContainers(pod)].map(containerFieldPath), [
    'spec.initContainers{i}',
    'spec.containers{c}',
    'spec.containers[1]',
    'spec.ephemeralContainers{e}',
  ]);
  assert.equal(findContainer(pod, 'e')?.kind, 'ephemeral');
  assert.equal(findContainer(pod, 'x'), undefined);
});

test('container ids', () => {
  assert.deepEqual(parseContainerId('containerd://abc'), { type: 'containerd', id: 'abc' });
  assert.equal(formatContainerId(parseContainerId('"cri-o://x"')), 'cri-o://x');
  for (const bad of ['', 'abc', 'a://b://c']) assert.ok(isEmptyContainerId(parseContainerId(bad)), bad);
});

test('paths as Go cleans them', () => {
  assert.equal(joinPath('/a//b/', '..', '', 'c'), '/a/c');
  assert.equal(joinPath('', ''), '');
  assert.equal(cleanPath(''), '.');
  assert.equal(cleanPath('./'), '.');
  assert.equal(cleanPath('/../a/'), '/a');
  for (const [path, base] of [
    ['', '.'],
    ['//', '/'],
    ['/a/b//', 'b'],
    ['a', 'a'],
  ] as const)
    assert.equal(basePath(path), base);
});
