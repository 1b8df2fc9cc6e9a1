import assert from 'node:assert/strict';
import test from 'node:test';
import type { PodCondition } from '../../src/api/types.ts';
import { BUSYBOX_IMAGE } from '../support/containerd.ts';
import { groupLimits } from '../support/podCgroups.ts';
import type { ApiObject } from './cluster/apiClient.ts';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import { isReady } from './cluster/node.ts';

/* In-place resize through the `/resize` subresource of a real API server: what the status, the events and the kernel say. */

const Pods = '/api/v1/namespaces/default/pods';
const Mi = 2 ** 20;
const both = (cpu: string, memory: string) => ({ requests: { cpu, memory }, limits: { cpu, memory } });

class Bed {
  readonly cluster: Cluster;
  constructor(cluster: Cluster) {
    this.cluster = cluster;
  }

  async create(name: string, spec: { containers: object[]; resources?: object }): Promise<ApiObject> {
    const containers = spec.containers.map((c) => ({
      image: BUSYBOX_IMAGE,
      command: ['sh', '-c', 'trap "exit 0" TERM; sleep 100000 & wait'],
      ...c,
    }));
    await this.cluster.api.post(Pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: { automountServiceAccountToken: false, terminationGracePeriodSeconds: 1, ...spec, containers },
    });
    return this.cluster.until(`${name} to be ready`, async () => {
      const pod = await this.cluster.api.get(`${Pods}/${name}`);
      return isReady(pod) && pod;
    });
  }

  resize(name: string, spec: object): Promise<ApiObject> {
    return this.cluster.api.patch(`${Pods}/${name}/resize`, { spec }, 'strategic');
  }

  condition(pod: ApiObject, type: string): PodCondition | undefined {
    return (pod.status?.conditions as PodCondition[] | undefined)?.find((c) => c.type === type);
  }

  until(name: string, what: string, check: (pod: ApiObject) => boolean): Promise<ApiObject> {
    return this.cluster.until(`${name} ${what}`, async () => {
      const pod = await this.cluster.api.get(`${Pods}/${name}`);
      return check(pod) && pod;
    });
  }

  /** The newest generation is seen, and no resize is pending or under way. */
  settled(name: string): Promise<ApiObject> {
    return this.until(name, 'to be resized', (pod) => {
      const open = ['PodResizePending', 'PodResizeInProgress'].some((type) => this.condition(pod, type) !== undefined);
      return !open && pod.status?.observedGeneration === pod.metadata.generation && isReady(pod);
    });
  }

  async events(name: string): Promise<string[]> {
    const events = await this.cluster.api.list(`/api/v1/events?fieldSelector=involvedObject.name=${name}`);
    return events.filter((e) => (e['reason'] as string).startsWith('Resize')).map((e) => `${e['reason']} ${e['message']}`);
  }
}

test('a pod is resized in place', { timeout: 300_000 }, async (t) => {
  await using cluster = await startCluster();
  const node = await cluster.addNode({ config: { systemReserved: { cpu: '100m' } } });
  await node.waitReady();
  const bed = new Bed(cluster);
  const limits = async (name: string) => {
    const { cpuQuota, memory } = await groupLimits(node.containerd.cgroupRoot, name);
    return `${cpuQuota / 100} ${memory / Mi}`;
  };
  const idOf = (pod: ApiObject, at = 0) => (pod.status.containerStatuses[at].containerID as string).replace(/^.*\/\//, '');

  await t.test('the node says that it can', async () => {
    const features = (await node.get())?.status?.declaredFeatures as string[];
    assert.ok(features.includes('InPlacePodLevelResourcesVerticalScaling'));
    assert.ok(features.includes('InPlacePodVerticalScalingInitContainers'));
  });

  await t.test('containers: the kernel, the status and the events follow', async () => {
    const before = await bed.create('web', {
      containers: [
        { name: 'a', resources: both('100m', '64Mi') },
        { name: 'b', resources: both('100m', '64Mi') },
      ],
    });
    assert.deepEqual(before.status.allocatedResources, { cpu: '200m', memory: '128Mi' });
    await bed.resize('web', {
      containers: [
        { name: 'a', resources: both('150m', '48Mi') },
        { name: 'b', resources: both('50m', '128Mi') },
      ],
    });
    const pod = await bed.settled('web');
    const [a, b] = pod.status.containerStatuses;
    assert.deepEqual([a.resources, b.resources], [both('150m', '48Mi'), both('50m', '128Mi')]);
    assert.deepEqual([a.allocatedResources, a.restartCount, b.restartCount], [{ cpu: '150m', memory: '48Mi' }, 0, 0]);
    assert.deepEqual(pod.status.resources, both('200m', '176Mi'));
    assert.deepEqual(await Promise.all([idOf(pod, 0), idOf(pod, 1), `pod${pod.metadata.uid}`].map(limits)), [
      '150 48',
      '50 128',
      '200 176',
    ]);
    const events = await cluster.until('both events', async () => {
      const found = await bed.events('web');
      return found.length >= 2 && found;
    });
    assert.deepEqual(
      events.map((e) => e.replace(/\{.*/, '')),
      ['ResizeStarted Pod resize started: ', 'ResizeCompleted Pod resize completed: '],
    );
    assert.match(events[0] ?? '', /"generation":2\}$/);
  });

  await t.test('resources of the pod reach containers without limits; policies restart them', async () => {
    const resizePolicy = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }];
    await bed.create('whole', { resources: both('200m', '64Mi'), containers: [{ name: 'a' }, { name: 'b', resizePolicy }] });
    await bed.resize('whole', { resources: both('300m', '96Mi') });
    const pod = await bed.settled('whole');
    assert.deepEqual(
      pod.status.containerStatuses.map((c: { restartCount: number }) => c.restartCount),
      [0, 1],
    );
    assert.deepEqual(pod.status.resources, both('300m', '96Mi'));
    assert.deepEqual(await Promise.all([idOf(pod, 0), idOf(pod, 1), `pod${pod.metadata.uid}`].map(limits)), ['300 96', '300 96', '300 96']);
  });

  await t.test('what does not fit waits, and is done when another pod is gone; metrics count it', async () => {
    const allocatable = (await node.get())?.status?.allocatable.cpu as string;
    const milli = allocatable.endsWith('m') ? Number.parseInt(allocatable, 10) : Number(allocatable) * 1000;
    const cpu = (m: number) => ({ requests: { cpu: `${m}m` } });
    const free = milli - 500;
    await bed.create('big', { containers: [{ name: 'a', resources: cpu(free - 200) }] });
    const small = await bed.create('small', { containers: [{ name: 'a', resources: cpu(100) }] });
    await bed.resize('small', { containers: [{ name: 'a', resources: cpu(400) }] });
    const waiting = await bed.until('small', 'to wait', (pod) => bed.condition(pod, 'PodResizePending') !== undefined);
    const pending = bed.condition(waiting, 'PodResizePending');
    assert.deepEqual([pending?.reason, pending?.observedGeneration], ['Deferred', 2]);
    assert.match(pending?.message ?? '', /^Node didn't have enough resource: cpu, requested: 400, used: \d+, capacity: \d+$/);
    assert.deepEqual(waiting.status.containerStatuses[0].allocatedResources, { cpu: '100m' });
    const metrics = () => cluster.api.text(`/api/v1/nodes/${node.name}/proxy/metrics`);
    assert.match(await metrics(), /kubelet_pod_pending_resizes\{reason="deferred",priority_bucket="normal"\} 1/);
    await cluster.kubectl(['delete', 'pod', 'big', '--wait=false']);
    const done = await bed.settled('small');
    assert.deepEqual(done.status.containerStatuses[0].allocatedResources, { cpu: '400m' });
    assert.equal(idOf(done), idOf(small));
    const text = await metrics();
    assert.match(text, /kubelet_pod_deferred_accepted_resizes_total\{retry_trigger="(pods_removed|pod_terminated)"\} 1/);
    assert.match(text, /kubelet_container_requested_resizes_total\{resource="cpu",requirement="requests",operation="increase"\}/);
    assert.match(text, /kubelet_pod_resize_duration_milliseconds_count\{success="true"\}/);
  });

  await t.test('a resize that waits does so over a restart of the agent, and nothing restarts', async () => {
    const pod = await bed.create('over', { containers: [{ name: 'a', resources: both('50m', '32Mi') }] });
    await bed.resize('over', { containers: [{ name: 'a', resources: both('1500m', '32Mi') }] });
    const pending = (p: ApiObject) => bed.condition(p, 'PodResizePending')?.reason === 'Deferred';
    await bed.until('over', 'to wait', pending);
    await node.agent.kill('SIGKILL');
    await node.agent.start();
    await node.agent.waitHealthy();
    await bed.until('over', 'to wait still', pending);
    await bed.resize('over', { containers: [{ name: 'a', resources: both('100m', '32Mi') }] });
    const done = await bed.settled('over');
    assert.deepEqual([idOf(done), done.status.containerStatuses[0].restartCount], [idOf(pod), 0]);
    assert.equal(await limits(idOf(done)), '100 32');
  });
});
