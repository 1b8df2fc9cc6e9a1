import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod, PodSpec } from '../api/types.ts';
import { type AdmissionCheck, admitPod, rejectionLabel } from './chain.ts';
import { type AdmissionNode, generalPredicates } from './general-predicates.ts';
import { declaredFeaturesCheck, podLevelResourcesCheck } from './pod-features.ts';

const node: AdmissionNode = {
  name: 'n1',
  labels: {},
  taints: [],
  allocatable: { cpu: '1', memory: '1Gi', pods: '9' },
  supportsStrictGroups: false,
};

function pod(name: string, spec: Partial<PodSpec> = {}): Pod {
  return {
    metadata: { name, namespace: 'ns', uid: name, annotations: { 'kubernetes.io/config.source': 'api' } },
    spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
  };
}
const cpu = (name: string, amount: string, more: Partial<PodSpec> = {}) =>
  pod(name, { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: amount } } }], ...more });
const check = (name: string, refuses: boolean): AdmissionCheck => ({
  name,
  admit: () => (refuses ? { reason: name, message: 'no' } : undefined),
});
const chain = (before: AdmissionCheck[] = [], after: AdmissionCheck[] = []) => ({
  before,
  after,
  predicates: (p: Pod, others: readonly Pod[]) => generalPredicates(p, others, node),
});
const Critical = { priority: 2_000_000_000 };

describe('admitPod', () => {
  it('gives the first refusal in order', () => {
    const full = cpu('a', '2');
    const reason = (before: AdmissionCheck[], p: Pod, after: AdmissionCheck[] = []) => {
      const verdict = admitPod(chain(before, after), p, []);
      return verdict !== undefined && 'reason' in verdict ? verdict.reason : verdict;
    };
    assert.equal(reason([check('x', false), check('y', true), check('z', true)], full), 'y');
    assert.equal(reason([check('x', false)], full, [check('late', true)]), 'OutOfcpu');
    assert.equal(reason([], pod('p'), [check('late', true)]), 'late');
    assert.equal(reason([], pod('p')), undefined);
  });

  it('asks a critical pod to wait for others to stop, but nobody is stopped for one that is refused anyway', () => {
    const others = [cpu('other', '1')];
    assert.deepEqual(admitPod(chain(), cpu('c', '1', Critical), others), {
      preempt: others,
      resource: 'cpu',
      message: "Node didn't have enough resource: cpu, requested: 1000, used: 1000, capacity: 1000",
    });
    assert.deepEqual(admitPod(chain([], [check('late', true)]), cpu('c', '1', Critical), others), { reason: 'late', message: 'no' });
    const elsewhere = admitPod(chain(), cpu('c', '1', { ...Critical, nodeName: 'n2' }), others);
    assert.deepEqual(elsewhere, { reason: 'NodeName', message: "Predicate NodeName failed: node(s) didn't match the requested node name" });
  });

  it('says that even all the others are not enough', () => {
    assert.deepEqual(admitPod(chain(), cpu('c', '3', Critical), [cpu('other', '500m')]), {
      reason: 'UnexpectedAdmissionError',
      message:
        'Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to preempt: ' +
        'no set of running pods found to reclaim resources: [(res: cpu, q: 2500), ]',
    });
  });

  it('an ordinary pod without room is refused, whoever else is there', () => {
    const verdict = admitPod(chain(), cpu('p', '1'), [cpu('other', '1')]);
    assert.deepEqual(verdict !== undefined && 'reason' in verdict && verdict.reason, 'OutOfcpu');
  });
});

describe('rejectionLabel', () => {
  it('names what is known and counts the rest together', () => {
    const labels = ['OutOfcpu', 'OutOfexample.com/gpu', 'Evicted', 'Surprise'].map(rejectionLabel);
    assert.deepEqual(labels, ['OutOfcpu', 'OutOfExtendedResources', 'Evicted', 'Other']);
  });
});

describe('feature checks', () => {
  it('pod-level resources need their gate', () => {
    const p = pod('p', { resources: { requests: { cpu: '1' } } });
    assert.equal(podLevelResourcesCheck(false).admit(p, [])?.reason, 'PodLevelResourcesNotSupported');
    assert.equal(podLevelResourcesCheck(true).admit(p, []), undefined);
    assert.equal(podLevelResourcesCheck(false).admit(pod('p'), []), undefined);
  });

  it('names the features that the node does not declare; a node that declares none at all takes everything', () => {
    const p = pod('p', {
      hostUsers: false,
      hostNetwork: true,
      containers: [
        {
          name: 'c',
          image: 'i',
          restartPolicy: 'Never',
          restartPolicyRules: [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [1] } }],
        },
      ],
    } as Partial<PodSpec>);
    assert.deepEqual(declaredFeaturesCheck(() => []).admit(p, []), {
      reason: 'PodFeatureUnsupported',
      message: 'Pod requires node features that are not available: RestartAllContainersOnContainerExits, UserNamespacesHostNetworkSupport',
    });
    assert.equal(
      declaredFeaturesCheck(() => ['RestartAllContainersOnContainerExits', 'UserNamespacesHostNetworkSupport']).admit(p, []),
      undefined,
    );
    assert.equal(declaredFeaturesCheck(() => undefined).admit(p, []), undefined);
    assert.equal(declaredFeaturesCheck(() => []).admit(pod('p'), []), undefined);
  });
});
