import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { availableParallelism, release } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startAgent } from '../support/agent.ts';
import { BUSYBOX_IMAGE, startContainerd } from '../support/containerd.ts';
import type { ApiObject } from './cluster/apiClient.ts';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import { isReady } from './cluster/node.ts';

const NodesPath = '/api/v1/nodes';
const PodsPath = '/api/v1/namespaces/default/pods';
const name = 'n1';

const pod = (podName: string, nodeName?: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: podName, namespace: 'default' },
  spec: {
    ...(nodeName === undefined ? {} : { nodeName }),
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: 1,
    containers: [{ name: 'c', image: BUSYBOX_IMAGE, command: ['sh', '-c', 'trap "exit 0" TERM; sleep 100000 & wait'] }],
  },
});

/** The value of a field of `kubectl describe node`, or the lines below it joined by a bar. */
function described(text: string, field: string): string {
  const lines = text.split('\n');
  const at = lines.findIndex((line) => line.trimStart().startsWith(`${field}:`));
  const line = lines[at] ?? assert.fail(`no ${field} in\n${text}`);
  const indent = line.length - line.trimStart().length;
  const below = lines.slice(at + 1);
  const end = below.findIndex((l) => l.length - l.trimStart().length <= indent);
  return [line.slice(line.indexOf(':') + 1), ...below.slice(0, end)].map((l) => l.trim().replace(/\s+/g, ' ')).join('|');
}

const phaseOf = async (cluster: Cluster, podName: string) =>
  (await cluster.api.find(`${PodsPath}/${podName}`))?.status?.phase as string | undefined;
const eventReasons = async (cluster: Cluster, kind: string, objectName: string) =>
  (await cluster.api.list(`/api/v1/events?fieldSelector=involvedObject.kind=${kind},involvedObject.name=${objectName}`)).map(
    (e) => e['reason'] as string,
  );
const transition = (node: ApiObject | undefined) =>
  (node?.status?.conditions as { type: string; lastTransitionTime: string }[] | undefined)?.find((c) => c.type === 'Ready')
    ?.lastTransitionTime;

test('a node of a real cluster', async (t) => {
  await using cluster = await startCluster();
  // It was here before, under other labels: the agent brings it in line and leaves to others what is theirs.
  await cluster.api.post(NodesPath, {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { 'kubernetes.io/hostname': 'wrong', team: 'theirs' } },
    spec: { taints: [{ key: 'theirs', effect: 'PreferNoSchedule' }] },
  });
  const node = await cluster.addNode({
    name,
    flags: ['--node-labels', 'team=ours,node.kubernetes.io/instance-type=small', '--register-with-taints', 'ours=x:NoSchedule'],
    config: { nodeLeaseDurationSeconds: 12, nodeStatusUpdateFrequency: '2s' },
  });

  const seconds = await node.waitReady();

  await t.test('it is Ready within ten seconds, and the node that was there keeps what is not ours', async () => {
    assert.ok(seconds < 10, `Ready after ${seconds} s`);
    t.diagnostic(`Ready ${seconds.toFixed(1)} s after the agent's start`);
    const { metadata, spec } = await cluster.api.get(`${NodesPath}/${name}`);
    const labels = metadata.labels ?? {};
    assert.equal(labels['team'], 'theirs');
    assert.equal(labels['kubernetes.io/hostname'], name);
    assert.equal(labels['node.kubernetes.io/instance-type'], 'small');
    const taints = (spec.taints as { key: string }[]).map((taint) => taint.key);
    assert.ok(taints.includes('theirs') && !taints.includes('ours'), taints.join());
  });

  await t.test('kubectl shows of it what it shows of any node', async () => {
    const [, line = ''] =
      (await cluster.kubectl(['get', 'nodes', '-o', 'wide', '--no-headers'])).replaceAll('\n', '').match(/^(.*)$/) ?? [];
    const [, status, , , version, internal, external] = line.split(/\s+/);
    assert.deepEqual([status, version, internal, external], ['Ready', 'v1.37.2', node.address, '<none>']);
    assert.ok(line.includes(release()) && line.includes(`containerd://${node.containerd.version}`), line);
    const text = await cluster.kubectl(['describe', 'node', name]);
    assert.equal(described(text, 'HolderIdentity'), name);
    assert.equal(described(text, 'Addresses'), `|InternalIP: ${node.address}|Hostname: ${name}`);
    assert.match(
      described(text, 'Capacity'),
      new RegExp(`^\\|cpu: ${availableParallelism()}\\|ephemeral-storage: [0-9]+\\|.*memory: [0-9]+Ki\\|pods: 110$`),
    );
    assert.match(described(text, 'Allocatable'), /^\|cpu: [0-9]+m?\|ephemeral-storage: [0-9]+\|.*memory: [0-9]+Ki\|pods: 110$/);
    assert.match(
      described(text, 'System Info'),
      /^\|Machine ID: \S+\|System UUID: \S+\|Boot ID: [0-9a-f-]{36}\|Kernel Version: \S+\|OS Image: .+\|Operating System: linux\|Architecture: \S+\|Container Runtime Version: containerd:\/\/\S+\|Kubelet Version: v1\.37\.2/,
    );
    for (const row of [
      /MemoryPressure False .* KubeletHasSufficientMemory kubelet has sufficient memory available/,
      /DiskPressure False .* KubeletHasNoDiskPressure kubelet has no disk pressure/,
      /PIDPressure False .* KubeletHasSufficientPID kubelet has sufficient PID available/,
      /Ready True .* KubeletReady kubelet is posting ready status/,
    ])
      assert.match(described(text, 'Conditions'), row);
    const status2 = (await cluster.api.get(`${NodesPath}/${name}`)).status;
    assert.deepEqual((status2.images as { names: string[] }[]).map((i) => i.names[0]).sort(), [
      'registry.local/busybox:1',
      'registry.local/pause:1',
    ]);
    assert.ok((status2.declaredFeatures as string[]).length > 0);
  });

  await t.test('the events of a node are there', async () => {
    const wanted = ['Starting', 'NodeHasSufficientMemory', 'NodeHasNoDiskPressure', 'NodeHasSufficientPID'];
    await cluster.until('the events', async () => {
      const reasons = await eventReasons(cluster, 'Node', name);
      return wanted.every((reason) => reasons.includes(reason));
    });
  });

  await t.test('its lease is renewed', async () => {
    const path = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${name}`;
    const first = await cluster.until('the lease', () => cluster.api.find(path));
    assert.equal(
      (first.metadata['ownerReferences'] as { uid: string }[])[0]?.uid,
      (await cluster.api.get(`${NodesPath}/${name}`)).metadata.uid,
    );
    const renewed = await cluster.until('its renewal', async () => {
      const lease = await cluster.api.get(path);
      return lease.spec.renewTime !== first.spec.renewTime && lease;
    });
    assert.equal(renewed.spec.leaseDurationSeconds, 12);
    assert.equal(renewed.spec.holderIdentity, name);
  });

  await t.test('a pod made with kubectl runs, is seen Running, and goes when it is deleted', async () => {
    await cluster.kubectl(['create', '-f', '-'], { input: JSON.stringify(pod('a', name)) });
    await cluster.until('pod a to run', async () => isReady(await cluster.api.find(`${PodsPath}/a`)), 20_000);
    const { status } = await cluster.api.get(`${PodsPath}/a`);
    assert.equal(status.hostIP, node.address);
    assert.ok(status.podIP);
    await cluster.kubectl(['delete', 'pod', 'a'], { timeoutMs: 20_000 });
    assert.equal(await cluster.api.find(`${PodsPath}/a`), undefined);
    assert.equal((await node.containerd.ctr(['containers', 'ls', '-q'])).trim(), '');
  });

  await t.test('the scheduler places a pod here', async () => {
    await cluster.api.post(PodsPath, pod('b'));
    await cluster.until('pod b to run', async () => (await phaseOf(cluster, 'b')) === 'Running', 30_000);
  });

  await t.test('cordoned, it says so', async () => {
    await cluster.kubectl(['cordon', name]);
    await cluster.until('NodeNotSchedulable', async () => (await eventReasons(cluster, 'Node', name)).includes('NodeNotSchedulable'));
    await cluster.kubectl(['uncordon', name]);
    await cluster.until('NodeSchedulable', async () => (await eventReasons(cluster, 'Node', name)).includes('NodeSchedulable'));
  });

  await t.test('a restart changes neither labels nor taints, nor readiness, nor a pod', async () => {
    await cluster.kubectl(['label', 'node', name, 'later=yes']);
    await cluster.kubectl(['taint', 'node', name, 'later=yes:PreferNoSchedule']);
    const before = await cluster.api.get(`${NodesPath}/${name}`);
    const podBefore = await cluster.api.get(`${PodsPath}/b`);
    await node.agent.kill('SIGTERM');
    await node.agent.start();
    await node.agent.waitHealthy();
    await sleep(5_000);
    const after = await cluster.api.get(`${NodesPath}/${name}`);
    assert.deepEqual(after.metadata.labels, before.metadata.labels);
    assert.deepEqual(after.spec.taints, before.spec.taints);
    assert.equal(after.metadata.uid, before.metadata.uid);
    assert.equal(transition(after), transition(before));
    const podAfter = await cluster.api.get(`${PodsPath}/b`);
    assert.deepEqual(podAfter.status.containerStatuses, podBefore.status.containerStatuses);
  });

  await t.test('an API server that goes away and comes back: pods run on, the agent too', async () => {
    const pid = node.agent.pid();
    await cluster.stopApiserver('SIGKILL');
    await writeFile(join(node.agent.manifests, 's.json'), JSON.stringify(pod('s')));
    await cluster.until('the static pod', async () => (await node.containerd.ctr(['tasks', 'ls', '-q'])).trim().split('\n').length === 4);
    await cluster.startApiserver();
    await cluster.until('its mirror to run', async () => (await phaseOf(cluster, `s-${name}`)) === 'Running', 60_000);
    assert.equal(node.agent.pid(), pid);
    assert.equal((await cluster.api.get(`${PodsPath}/b`)).status.phase, 'Running');
  });

  await t.test('an API server that is away at the start: static pods start at once, the node joins later', async () => {
    await node.agent.kill('SIGTERM');
    await cluster.stopApiserver('SIGKILL');
    await writeFile(join(node.agent.manifests, 't.json'), JSON.stringify(pod('t')));
    await node.agent.start();
    const running = async () => (await node.containerd.ctr(['tasks', 'ls', '-q'])).trim().split('\n').length;
    await cluster.until('the static pod', async () => (await running()) === 6, 15_000);
    await cluster.startApiserver();
    const at = performance.now();
    await cluster.until('its mirror', async () => (await phaseOf(cluster, `t-${name}`)) === 'Running', 60_000);
    t.diagnostic(`its mirror runs ${((performance.now() - at) / 1000).toFixed(1)} s after the API server's return`);
    assert.ok(isReady(await node.get()));
    for (const file of ['s.json', 't.json']) await rm(join(node.agent.manifests, file));
    await cluster.until(
      'the mirrors to go',
      async () => (await cluster.api.list(PodsPath)).every((p) => !/^[st]-/.test(p.metadata.name)),
      30_000,
    );
  });

  // 30 s are the contract's: the one wait of this length, whose other cases are those of test/sim/node.test.ts.
  await t.test('without its runtime it is NotReady, and Ready as soon as that is back', async () => {
    await node.containerd.kill();
    const at = performance.now();
    const down = await cluster.until('NotReady', async () => {
      const found = await node.get();
      return !isReady(found) && found;
    });
    const seconds = (performance.now() - at) / 1000;
    assert.ok(seconds > 20 && seconds < 40, `NotReady after ${seconds} s`);
    const condition = (down.status.conditions as { type: string; reason: string; message: string }[]).find((c) => c.type === 'Ready');
    assert.equal(condition?.reason, 'KubeletNotReady');
    assert.match(condition?.message ?? '', /container runtime is down/);
    await node.containerd.start();
    const back = performance.now();
    await cluster.until('Ready', async () => isReady(await node.get()), 10_000);
    t.diagnostic(
      `NotReady after ${seconds.toFixed(1)} s, Ready ${((performance.now() - back) / 1000).toFixed(1)} s after the runtime's return`,
    );
  });
});

test('a kubeconfig that is not there is an error of the start that names the flag', async () => {
  await using containerd = await startContainerd();
  const agent = await startAgent({ containerd, flags: ['--kubeconfig', '/nonexistent/kubeconfig'] });
  for (let i = 0; agent.ended() === undefined && i < 200; i++) await sleep(100);
  assert.equal(agent.ended(), 'exit 1');
  assert.match(await agent.log(), /--kubeconfig: kubeconfig \/nonexistent\/kubeconfig: cannot be read: ENOENT/);
});
