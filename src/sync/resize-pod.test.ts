import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { instance, planOf, sandbox, seen } from '../../test/support/plan-fixtures.ts';
import { isResizeInProgress, type PodResourceInfo, resourceInfoOf } from '../api/allocation.ts';
import type { Container, Pod, ResourceRequirements } from '../api/types.ts';
import { silentLogger } from '../observe/log.ts';
import { podCgroupConfig } from '../resources/pod-cgroup-config.ts';
import { type PodCgroupPart, PodResizer, type PodResizerDeps } from './resize-pod.ts';

const gates = { podLevel: true, initContainers: true };
const options = { enforceCpuLimits: true, cpuPeriod: 100_000, enforceMemoryQoS: false, memoryReservationPolicy: 'None' };
const Mi = 2 ** 20;

const size = (milli: number, mi: number): ResourceRequirements => {
  const list = { cpu: `${milli}m`, memory: `${mi}Mi` };
  return { requests: list, limits: list };
};
const podOf = (sizes: Record<string, ResourceRequirements>, own?: ResourceRequirements): Pod => ({
  metadata: { name: 'p', namespace: 'n', uid: 'u' },
  spec: {
    containers: Object.entries(sizes).map(([name, resources]) => ({ name, resources })),
    ...(own === undefined ? {} : { resources: own }),
  },
});

/** A pod that runs with the resources of `before`, on a runtime and a kernel that remember what they are told. */
function scene(before: Pod, over: Partial<PodResizerDeps> = {}) {
  const done: string[] = [];
  const containers = new Map(before.spec.containers.map((c) => [c.name, c.resources ?? {}]));
  const { cpuShares, cpuQuota = -1, cpuPeriod = 100_000, memory = -1 } = podCgroupConfig(before, options);
  const group = { cpuShares, cpuQuota, cpuPeriod, memory };
  let actuated: PodResourceInfo = resourceInfoOf(before, gates);
  let fail: string | undefined;
  let step: (() => void) | undefined;
  let due = false;
  const effect = (what: string) => {
    if (fail !== undefined && what.startsWith(fail)) throw new Error(`no ${what}`);
    done.push(what);
  };
  const deps: PodResizerDeps = {
    runtime: {
      updateContainerResources: async (id, r) => {
        const name = id.split('-')[0] ?? '';
        effect(`${name} ${r.cpuShares} ${r.cpuQuota ?? 0} ${(r.memoryLimitInBytes ?? 0) / Mi}`);
        containers.set(name, size((r.cpuQuota ?? 0) / 100, (r.memoryLimitInBytes ?? 0) / Mi));
        step?.();
      },
      updatePodSandboxResources: async () => {
        effect('sandbox');
        return false;
      },
    },
    cgroups: {
      wanted: (pod) => {
        const { hugePageLimit: _, ...part } = podCgroupConfig(pod, options);
        return part;
      },
      current: async () => ({ ...group }),
      change: async (_pod, part: PodCgroupPart) => {
        effect(
          `pod ${Object.entries(part)
            .filter(([k]) => k !== 'cpuPeriod')
            .map(([k, v]) => `${k} ${k === 'memory' ? Number(v) / Mi : String(v)}`)
            .join(' ')}`,
        );
        Object.assign(group, part);
        step?.();
      },
      memoryUsage: async () => 10 * Mi,
    },
    containerResources: (_pod, c: Container) => {
      const { cpuShares: shares, cpuQuota: quota, memory: bytes } = podCgroupConfig({ ...before, spec: { containers: [c] } }, options);
      return {
        cpuShares: shares,
        ...(quota === undefined ? {} : { cpuQuota: quota }),
        ...(bytes === undefined ? {} : { memoryLimitInBytes: bytes }),
      };
    },
    sandboxOverhead: () => ({}),
    containerMemoryUsage: async () => 5 * Mi,
    actuated: {
      get: () => actuated,
      setContainer: (_uid, name, resources) => {
        actuated = { ...actuated, containers: { ...actuated.containers, [name]: resources } };
      },
      setPodLevel: (_uid, pod) => {
        actuated = { ...actuated, pod };
      },
    },
    podLevel: true,
    saved: { allocated: async () => void done.push('saved'), actuated: async () => void done.push('recorded') },
    clock: { monotonic: () => 0 },
    log: silentLogger,
    measured: (_ms, success) => void done.push(success ? 'success' : 'failure'),
    ...over,
  };
  const resizer = new PodResizer(deps);
  const observed = seen(
    [sandbox()],
    before.spec.containers.map((c) => instance(c.name, 'running')),
  );
  return {
    done,
    group,
    containers,
    resizer,
    actuated: () => actuated,
    failOn: (what: string | undefined) => (fail = what),
    onStep: (check: () => void) => (step = check),
    async to(pod: Pod): Promise<void> {
      const [action] = planOf(pod, observed, { resize: { gates, actuated, due } }).actions;
      due = true;
      if (action?.type === 'ResizePod') await resizer.resize(pod, action, AbortSignal.any([]));
      due = false;
    },
    inProgress: (pod: Pod) => isResizeInProgress(pod, actuated, () => true, gates),
  };
}

describe('PodResizer', () => {
  it('grows the pod before its containers, after the allocation is on disk', async () => {
    const s = scene(podOf({ a: size(100, 100) }));
    await s.to(podOf({ a: size(200, 200) }));
    assert.deepEqual(s.done, [
      'saved',
      'sandbox',
      'pod memory 200',
      'a 102 10000 200',
      'sandbox',
      'pod cpuQuota 20000',
      'sandbox',
      'pod cpuShares 204',
      'a 204 20000 200',
      'success',
    ]);
  });

  it('shrinks the pod after its containers, requests before limits', async () => {
    const s = scene(podOf({ a: size(200, 200) }));
    await s.to(podOf({ a: size(100, 100) }));
    assert.deepEqual(s.done, [
      'saved',
      'a 204 20000 100',
      'sandbox',
      'pod memory 100',
      'a 102 10000 100',
      'sandbox',
      'pod cpuShares 102',
      'sandbox',
      'pod cpuQuota 10000',
      'success',
    ]);
  });

  it('takes no limit away', async () => {
    const s = scene(podOf({ a: size(100, 100) }));
    await s.to(podOf({ a: { requests: { cpu: '200m', memory: '100Mi' } } }));
    assert.deepEqual([s.group.memory, s.group.cpuQuota], [100 * Mi, 10_000]);
    assert.equal(s.group.cpuShares, 204);
  });

  it('refuses a memory limit below what is in use, and changes nothing', async () => {
    const s = scene(podOf({ a: size(100, 100), b: size(100, 100) }));
    const tooSmall = podOf({ a: size(100, 4), b: size(100, 5) });
    await assert.rejects(
      s.to(tooSmall),
      new RegExp(
        '^Error: cannot decrease memory limits: \\[attempting to set pod memory limit \\(9437184\\) below current usage \\(10485760\\), ' +
          'attempting to set container "b" memory limit \\(5242880\\) below current usage \\(5242880\\), ' +
          'attempting to set container "a" memory limit \\(4194304\\) below current usage \\(5242880\\)\\]$',
      ),
    );
    assert.deepEqual(s.done, ['saved', 'failure']);
    assert.ok(s.inProgress(tooSmall));
    await s.to(podOf({ a: size(100, 6), b: size(100, 6) }));
    assert.equal(s.group.memory, 12 * Mi);
  });

  it('without a word of what is in use, no limit shrinks', async () => {
    const s = scene(podOf({ a: size(100, 100) }), { containerMemoryUsage: async () => undefined });
    await assert.rejects(s.to(podOf({ a: size(100, 50) })), /missing container "a" memory usage/);
    await s.to(podOf({ a: size(100, 150) }));
  });

  it('changes nothing of the pod when the runtime refuses, and tells the runtime when the kernel does', async () => {
    const s = scene(podOf({ a: size(100, 100) }));
    const bigger = podOf({ a: size(100, 200) });
    s.failOn('sandbox');
    await assert.rejects(
      s.to(bigger),
      /failed to notify runtime for UpdatePodSandboxResources \(resource=memory\); resize rejected: no sandbox/,
    );
    assert.equal(s.group.memory, 100 * Mi);
    s.failOn('pod memory');
    s.done.length = 0;
    await assert.rejects(s.to(bigger), /no pod memory 200/);
    assert.deepEqual(s.done, ['saved', 'sandbox', 'sandbox', 'failure']);
  });

  it("goes on where it failed: the pod's own resources are on record one at a time", async () => {
    const own = (milli: number, mi: number) => size(milli, mi);
    const s = scene(podOf({ a: {} }, own(100, 100)));
    const bigger = podOf({ a: {} }, own(200, 200));
    s.failOn('pod cpu');
    await assert.rejects(s.to(bigger), /no pod cpuQuota/);
    assert.equal(s.actuated().pod?.limits?.['memory'], '200Mi');
    assert.equal(s.actuated().pod?.limits?.['cpu'], '100m');
    assert.ok(s.inProgress(bigger));
    s.failOn(undefined);
    await s.to(bigger);
    assert.equal(s.inProgress(bigger), false);
    assert.deepEqual([s.group.cpuQuota, s.group.memory], [20_000, 200 * Mi]);
  });

  it('leaves the overhead of the RuntimeClass to the runtime', async () => {
    const told: unknown[] = [];
    const overhead = { cpu: '100m', memory: '10Mi' };
    const with_ = (pod: Pod): Pod => ({ ...pod, spec: { ...pod.spec, overhead } });
    const s = scene(with_(podOf({ a: size(100, 100) })), {
      runtime: { updateContainerResources: async () => {}, updatePodSandboxResources: async (_id, _o, r) => told.push(r) > 0 },
    });
    await s.to(with_(podOf({ a: size(100, 200) })));
    assert.deepEqual(told, [{ cpuShares: 102, cpuQuota: 10_000, cpuPeriod: 100_000, memoryLimitInBytes: 200 * Mi }]);
  });

  it('records the size of a container before it is made; a changed one is on disk first', async () => {
    const s = scene(podOf({ a: size(100, 100) }));
    await s.resizer.starts(podOf({ a: size(100, 100) }), { name: 'a', resources: size(100, 100) });
    assert.deepEqual(s.done, ['saved']);
    await s.resizer.starts(podOf({ a: size(200, 100) }), { name: 'a', resources: size(200, 100) });
    assert.deepEqual(s.done, ['saved', 'saved', 'recorded']);
    assert.deepEqual(s.actuated().containers['a'], size(200, 100));
  });

  it('from any sizes to any others, with a failure anywhere: no container is ever larger than its pod, and the end is as allocated', async () => {
    const milli = fc.integer({ min: 10, max: 4000 });
    const mi = fc.integer({ min: 20, max: 4000 });
    const sizes = fc.record({ a: fc.tuple(milli, mi), b: fc.tuple(milli, mi), c: fc.tuple(milli, mi) });
    const pod = (of: { [name: string]: [number, number] }) =>
      podOf(Object.fromEntries(Object.entries(of).map(([n, [x, y]]) => [n, size(x, y)])));
    const fault = fc.option(fc.constantFrom('a', 'b', 'c', 'pod memory', 'pod cpuQuota', 'pod cpuShares', 'sandbox'), { nil: undefined });
    await fc.assert(
      fc.asyncProperty(sizes, sizes, fault, async (from, to, failing) => {
        const s = scene(pod(from));
        s.onStep(() => {
          for (const [name, { limits }] of s.containers) {
            assert.ok(Number.parseInt(limits?.['memory'] ?? '', 10) * Mi <= s.group.memory, `${name} has more memory than its pod`);
            assert.ok(Number.parseInt(limits?.['cpu'] ?? '', 10) * 100 <= s.group.cpuQuota, `${name} has more CPU than its pod`);
          }
        });
        const wanted = pod(to);
        s.failOn(failing);
        await s.to(wanted).catch(() => {});
        s.failOn(undefined);
        await s.to(wanted);
        assert.equal(s.inProgress(wanted), false);
        const total = (at: 0 | 1) => to.a[at] + to.b[at] + to.c[at];
        assert.deepEqual([s.group.memory, s.group.cpuQuota], [total(1) * Mi, total(0) * 100]);
      }),
    );
  });
});
