import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Container, Pod, PodSpec } from '../api/types.ts';
import type { AdmissionNode } from './general-predicates.ts';
import { generalPredicates } from './general-predicates.ts';

const node: AdmissionNode = {
  name: 'n1',
  labels: {},
  taints: [],
  allocatable: { cpu: '2', memory: '1Gi', pods: '3' },
  supportsStrictGroups: false,
};
const container = (more: Partial<Container> = {}): Container => ({ name: 'c', image: 'i', ...more });

function pod(spec: Partial<PodSpec> = {}): Pod {
  return { metadata: { name: 'p', namespace: 'ns', uid: 'u' }, spec: { containers: [container()], ...spec } };
}
const reasons = (p: Pod, others: Pod[] = [], more: Partial<AdmissionNode> = {}) =>
  generalPredicates(p, others, { ...node, ...more }).map(({ reason }) => reason);

describe('generalPredicates', () => {
  it('admits what fits', () => assert.deepEqual(reasons(pod()), []));

  it('reports every fault, resources first, so that a critical pod is not preempted for in vain', () => {
    const greedy = pod({
      containers: [container({ resources: { requests: { cpu: '3', memory: '2Gi' } } })],
      nodeName: 'n2',
      nodeSelector: { a: 'b' },
    });
    const found = generalPredicates(greedy, [], node);
    assert.deepEqual(
      found.map(({ reason, insufficient }) => [reason, insufficient?.requested]),
      [
        ['OutOfcpu', 3000n],
        ['OutOfmemory', 2n * 1024n ** 3n],
        ['NodeAffinity', undefined],
        ['NodeName', undefined],
      ],
    );
  });

  it('counts host ports of sidecars, not of ordinary init containers', () => {
    const ports = [{ containerPort: 1, hostPort: 80 }];
    const taken = [pod({ containers: [container({ ports })] })];
    const init = (restartPolicy?: string) => pod({ initContainers: [container({ ports, ...(restartPolicy ? { restartPolicy } : {}) })] });
    assert.deepEqual(reasons(init('Always'), taken), ['NodePorts']);
    assert.deepEqual(reasons(init(), taken), []);
  });

  it('lets a pod wait for a device plugin that is not there yet, but not for one without room', () => {
    const gpu = pod({ containers: [container({ resources: { requests: { 'example.com/gpu': '1' } } })] });
    assert.deepEqual(reasons(gpu), []);
    assert.deepEqual(reasons(gpu, [], { allocatable: { ...node.allocatable, 'example.com/gpu': '0' } }), ['OutOfexample.com/gpu']);
  });

  it('lets the node say linux where its labels do not', () => {
    assert.deepEqual(reasons(pod({ nodeSelector: { 'kubernetes.io/os': 'linux' } })), []);
  });
});
