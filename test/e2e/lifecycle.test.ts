import assert from 'node:assert/strict';
import { readFile, readlink } from 'node:fs/promises';
import test from 'node:test';
import { BUSYBOX_IMAGE } from '../support/containerd.ts';
import { IGNORE_TERM, STAY, shellContainer } from '../support/shellContainer.ts';
import type { ApiObject } from './cluster/apiClient.ts';
import { startCluster } from './cluster/cluster.ts';
import { isReady } from './cluster/node.ts';
import { podGone, podOutput } from './cluster/pods.ts';

/*
 * What of the life of a pod only shows through an API server: ephemeral containers, a grace that shrinks, deadlines, readiness
 * gates, pods that are refused; and what a pod shares with the node or among its containers.
 */

const Pods = '/api/v1/namespaces/default/pods';
const nodeName = 'n1';
const podOf = (name: string, containers: object[], spec: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { nodeName, terminationGracePeriodSeconds: 1, automountServiceAccountToken: false, containers, ...spec },
});

test('the life of pods through the API server', { timeout: 600_000 }, async (t) => {
  await using cluster = await startCluster();
  const { api } = cluster;
  const node = await cluster.addNode({ name: nodeName });
  await node.waitReady();

  const find = (pod: string) => api.find(`${Pods}/${pod}`);
  const ready = (pod: string) => cluster.until(`${pod} to be ready`, async () => isReady(await find(pod)), 30_000);
  const events = async (pod: string): Promise<ApiObject[]> =>
    api.list(`/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3D${pod}`);
  const output = (pod: string, name: string, pattern: RegExp) => podOutput(cluster, pod, pattern, { container: name });

  await t.test(
    'kubectl debug: an ephemeral container starts beside the others, sees the processes of its target, and ends for good',
    async () => {
      await api.post(Pods, podOf('a', [shellContainer('c', `echo up; : main-of-a; ${STAY}`), shellContainer('d', STAY)]));
      await ready('a');
      const script = 'ps -o args; sleep 2; exit 7';
      await cluster.kubectl([
        'debug',
        'a',
        '-c',
        'dbg',
        `--image=${BUSYBOX_IMAGE}`,
        '--image-pull-policy=IfNotPresent',
        '--target=c',
        '--',
        'sh',
        '-c',
        script,
      ]);
      const text = await output('a', 'dbg', /ps -o args/);
      assert.match(text, /main-of-a/);
      const ended = await cluster.until('the end of the ephemeral container', async () => {
        const status = (await find('a'))?.status?.['ephemeralContainerStatuses']?.[0];
        return status?.state?.terminated !== undefined && status;
      });
      assert.deepEqual([ended.name, ended.state.terminated.exitCode, ended.restartCount], ['dbg', 7, 0]);
      const pod = await find('a');
      assert.equal(pod?.status?.phase, 'Running');
      assert.equal(isReady(pod), true);
      await api.delete(`${Pods}/a`, { graceSeconds: 0 });
    },
  );

  await t.test('a grace that is made shorter while the pod waits counts at once', async () => {
    await api.post(Pods, podOf('slow', [shellContainer('c', IGNORE_TERM)], { terminationGracePeriodSeconds: 600 }));
    await ready('slow');
    await api.delete(`${Pods}/slow`);
    await cluster.until('its end has begun', async () => (await events('slow')).some((e) => e['reason'] === 'Killing'));
    const began = performance.now();
    await api.delete(`${Pods}/slow`, { graceSeconds: 2 });
    await podGone(cluster, 'slow', 30_000);
    assert.ok(performance.now() - began >= 2_000, 'it had its two seconds');
  });

  await t.test('a pod past its deadline has failed, and says so', async () => {
    await api.post(Pods, podOf('late', [shellContainer('c', IGNORE_TERM)], { activeDeadlineSeconds: 2 }));
    const { status } = await cluster.until('late to fail', async () => {
      const pod = await find('late');
      return pod?.status?.phase === 'Failed' && pod;
    });
    assert.equal(status?.['reason'], 'DeadlineExceeded');
    assert.equal(status?.containerStatuses?.[0]?.state?.terminated?.exitCode, 137);
    assert.ok((await events('late')).some((e) => e['reason'] === 'DeadlineExceeded'));
    await api.delete(`${Pods}/late`, { graceSeconds: 0 });
  });

  await t.test('a readiness gate holds the pod back until somebody sets its condition', async () => {
    await api.post(Pods, podOf('gated', [shellContainer('c', STAY)], { readinessGates: [{ conditionType: 'example.com/open' }] }));
    const condition = async (type: string) => (await find('gated'))?.status?.conditions?.find((c: { type: string }) => c.type === type);
    await cluster.until('its containers to be ready', async () => (await condition('ContainersReady'))?.status === 'True');
    assert.equal((await condition('Ready'))?.reason, 'ReadinessGatesNotReady');
    const opened = { status: { conditions: [{ type: 'example.com/open', status: 'True' }] } };
    await api.patch(`${Pods}/gated/status`, opened, 'strategic');
    await ready('gated');
    assert.equal((await condition('example.com/open'))?.status, 'True', "what is not the node's stays");
    await api.delete(`${Pods}/gated`, { graceSeconds: 0 });
  });

  await t.test('a sysctl that is not allowed, and AppArmor where there is none: refused, with the reason', async () => {
    await api.post(
      Pods,
      podOf('sysctl', [shellContainer('c', STAY)], { securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '1' }] } }),
    );
    const refused = await cluster.until('a refusal', async () => {
      const pod = await find('sysctl');
      return pod?.status?.phase === 'Failed' && pod.status;
    });
    assert.equal(refused['reason'], 'SysctlForbidden');
    assert.match(String(refused['message']), /forbidden sysctl: "kernel\.msgmax" not allowlisted/);
    await api.delete(`${Pods}/sysctl`, { graceSeconds: 0 });
  });

  await t.test('containers share processes and names where the pod says so, and a sysctl is theirs', async () => {
    const see = 'sleep 1; ps -o args; cat /etc/hosts; cat /proc/sys/net/ipv4/ip_unprivileged_port_start; echo END; sleep 3600';
    const spec = {
      shareProcessNamespace: true,
      hostAliases: [{ ip: '192.0.2.77', hostnames: ['one.example', 'two.example'] }],
      securityContext: { sysctls: [{ name: 'net.ipv4.ip_unprivileged_port_start', value: '1000' }] },
    };
    await api.post(Pods, podOf('shared', [shellContainer('c', `: main-of-shared; ${STAY}`), shellContainer('see', see)], spec));
    const text = await output('shared', 'see', /^END$/m);
    assert.match(text, /main-of-shared/);
    assert.match(text, /^192\.0\.2\.77\tone\.example\ttwo\.example$/m);
    assert.match(text, /^1000$/m);
    await api.delete(`${Pods}/shared`, { graceSeconds: 0 });
  });

  await t.test('a pod in the namespaces of the node sees what the node sees', async () => {
    const see = 'for n in pid ipc; do readlink /proc/self/ns/$n; done; echo END; sleep 3600';
    await api.post(Pods, podOf('host', [shellContainer('see', see)], { hostNetwork: true, hostPID: true, hostIPC: true }));
    const text = await output('host', 'see', /END/);
    const kinds = ['pid', 'ipc'];
    for (const kind of kinds) {
      const own = await readlink(`/proc/self/ns/${kind}`);
      assert.ok(text.includes(own), `${kind}: ${own} is not in ${text}`);
    }
    assert.equal((await find('host'))?.status?.['podIP'], node.address);
    await api.delete(`${Pods}/host`, { graceSeconds: 0 });
  });

  await t.test('the overhead of a RuntimeClass is added to the limits of the pod', async () => {
    await api.post('/apis/node.k8s.io/v1/runtimeclasses', {
      apiVersion: 'node.k8s.io/v1',
      kind: 'RuntimeClass',
      metadata: { name: 'heavy' },
      handler: 'runc',
      overhead: { podFixed: { memory: '32Mi', cpu: '100m' } },
    });
    const resources = { limits: { memory: '64Mi', cpu: '100m' } };
    const pod = await api.post(Pods, podOf('heavy', [shellContainer('c', STAY, { resources })], { runtimeClassName: 'heavy' }));
    await ready('heavy');
    const path = `/sys/fs/cgroup/memory${node.containerd.cgroupRoot}/kubepods/pod${pod.metadata.uid}/memory.limit_in_bytes`;
    const unified = `/sys/fs/cgroup${node.containerd.cgroupRoot}/kubepods/pod${pod.metadata.uid}/memory.max`;
    const limit = await readFile(path, 'utf8').catch(() => readFile(unified, 'utf8'));
    assert.equal(Number(limit), 96 * 2 ** 20);
    await api.delete(`${Pods}/heavy`, { graceSeconds: 0 });
  });
});
