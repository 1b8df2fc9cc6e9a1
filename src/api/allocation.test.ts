import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  amountsOf,
  containerAmounts,
  effectiveLimits,
  isResizeInProgress,
  resourceInfoOf,
  sameRequirements,
  withAllocation,
} from './allocation.ts';
import type { Pod, PodSpec } from './types.ts';

const all = { podLevel: true, initContainers: true };
const requests = (cpu: string, memory = '64Mi') => ({ requests: { cpu, memory } });
const pod = (spec: Partial<PodSpec>): Pod => ({
  metadata: { name: 'p', namespace: 'n', uid: 'u' },
  spec: { containers: [{ name: 'c', resources: requests('100m') }], ...spec },
});

describe('allocated resources', () => {
  it('are those of every container that can be resized, and of the pod', () => {
    const p = pod({
      initContainers: [
        { name: 'i', resources: requests('1') },
        { name: 's', restartPolicy: 'Always' },
      ],
      ephemeralContainers: [{ name: 'e', resources: requests('3') }],
      resources: requests('2'),
    });
    assert.deepEqual(resourceInfoOf(p, all), { containers: { i: requests('1'), s: {}, c: requests('100m') }, pod: requests('2') });
    assert.deepEqual(resourceInfoOf(p, { podLevel: false, initContainers: false }), { containers: { s: {}, c: requests('100m') } });
  });

  it('take the place of what the spec asks for, and leave a pod alone where nothing differs', () => {
    const small = pod({});
    const info = resourceInfoOf(small, all);
    const big = pod({ containers: [{ name: 'c', image: 'i', resources: requests('1') }, { name: 'new' }], resources: requests('2') });
    const shown = withAllocation(big, info, all);
    assert.deepEqual(shown.spec.containers, [{ name: 'c', image: 'i', resources: requests('100m') }, { name: 'new' }]);
    assert.equal('resources' in shown.spec, false);
    assert.deepEqual(withAllocation(big, info, { ...all, podLevel: false }).spec.resources, requests('2'));
    const same = pod({ containers: [{ name: 'c', resources: requests('0.1', '65536Ki') }] });
    assert.equal(withAllocation(same, info, all), same);
    assert.equal(withAllocation(big, undefined, all), big);
    assert.deepEqual(big.spec.containers[0]?.resources, requests('1'));
  });

  it('compare by quantity; nothing is an empty list; claims count', () => {
    assert.ok(sameRequirements(undefined, { requests: {}, limits: {} }));
    assert.ok(sameRequirements({ requests: { cpu: '1' } }, { requests: { cpu: '1000m' } }));
    assert.ok(!sameRequirements({ requests: { cpu: '1' } }, { limits: { cpu: '1' } }));
    assert.ok(!sameRequirements({ requests: { cpu: '0' } }, {}));
    assert.ok(!sameRequirements({ claims: [{ name: 'a' }] }, {}));
  });

  it("a container without a limit is held by the pod's", () => {
    const ofPod = { limits: { cpu: '2', memory: '1Gi', 'hugepages-2Mi': '2Mi' } };
    assert.deepEqual(effectiveLimits(ofPod, { limits: { cpu: '1' } }), { cpu: '1', memory: '1Gi' });
    assert.deepEqual(effectiveLimits(undefined, { limits: { cpu: '1' } }), { cpu: '1' });
    assert.deepEqual(containerAmounts(ofPod, undefined, true), { cpuRequest: 0, cpuLimit: 2000, memoryRequest: 0, memoryLimit: 2 ** 30 });
    assert.deepEqual(containerAmounts(ofPod, undefined, false), amountsOf({}));
  });
});

describe('isResizeInProgress', () => {
  const runs = () => true;
  const has = (cpu: string) => ({ containers: { c: requests(cpu) } });
  it('is so while a running container differs from what is in force', () => {
    assert.equal(isResizeInProgress(pod({}), has('100m'), runs, all), false);
    assert.equal(isResizeInProgress(pod({}), has('200m'), runs, all), true);
    assert.equal(
      isResizeInProgress(pod({}), has('200m'), () => false, all),
      false,
    );
    assert.equal(isResizeInProgress(pod({}), undefined, runs, all), true);
  });
  it('is so while the pod itself does', () => {
    const p = pod({ containers: [{ name: 'c' }], resources: { requests: { cpu: '1' }, limits: { cpu: '2' } } });
    const at = (cpu: string) => ({ containers: { c: { limits: { cpu: '2' } } }, pod: { requests: { cpu }, limits: { cpu: '2' } } });
    assert.equal(isResizeInProgress(p, at('1'), runs, all), false);
    assert.equal(isResizeInProgress(p, at('500m'), runs, all), true);
    assert.equal(isResizeInProgress(p, at('500m'), runs, { ...all, podLevel: false }), true, 'a limit of the container alone differs then');
  });
  it('counts nothing but CPU and memory', () => {
    const p = pod({ containers: [{ name: 'c', resources: { requests: { 'ephemeral-storage': '1Gi' } } }] });
    assert.equal(isResizeInProgress(p, { containers: { c: {} } }, runs, all), false);
  });
});
