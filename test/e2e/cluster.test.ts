import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import test from 'node:test';
import { parse } from 'yaml';
import { mustRun, run } from '../../scripts/node/run.ts';
import { traces } from '../support/traces.ts';
import { ApiClient, ApiRequestError } from './cluster/apiClient.ts';
import { startCluster } from './cluster/cluster.ts';
import { newAuthority } from './cluster/pki.ts';

test('a cluster starts, authorizes nodes, survives a crash of its API server, and leaves nothing', async (t) => {
  let ran: { index: number; dir: string } | undefined;
  const pids: number[] = [];
  {
    await using cluster = await startCluster();
    ran = { index: Number(/\/([0-9]+)\/cluster$/.exec(cluster.dir)?.[1] ?? assert.fail(cluster.dir)), dir: cluster.dir };
    for (const daemon of [cluster.etcd, cluster.apiserver, cluster.scheduler, cluster.controllerManager])
      pids.push(daemon.pid() ?? assert.fail(`${daemon.name} does not run`));

    await t.test('it is the version that the agent is built for', async () => {
      const version = JSON.parse(await cluster.api.text('/version')) as { gitVersion: string };
      assert.equal(version.gitVersion, 'v1.37.2');
    });

    await t.test('a node may read what is bound to it and change only itself', async () => {
      const kubeconfig = await cluster.nodeKubeconfig('a');
      const kubectl = (args: string[], input = '') => run(cluster.binaries.kubectl, args, { env: cluster.kubectlEnv(kubeconfig), input });
      const canI = async (...what: string[]) => (await kubectl(['auth', 'can-i', ...what])).stdout;
      assert.equal((await canI('create', 'nodes')).trim(), 'yes');
      assert.match(await canI('get', 'secrets/any'), /^no\b/);
      assert.match(await canI('delete', 'namespaces'), /^no\b/);
      const node = (name: string) => JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name } });
      const create = (name: string) => kubectl(['create', '-f', '-'], node(name));
      assert.match((await create('b')).stderr, /node "a" is not allowed to modify node "b"/);
      assert.equal((await create('a')).code, 0);
    });

    await t.test('pods get a service account, whose token volume names the root certificates', async () => {
      const pod = await cluster.api.post('/api/v1/namespaces/default/pods', {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'unbound' },
        spec: { containers: [{ name: 'c', image: 'registry.local/busybox:1' }], nodeSelector: { none: 'such' } },
      });
      assert.equal(pod.spec.serviceAccountName, 'default');
      assert.ok(JSON.stringify(pod.spec.volumes).includes('kube-root-ca.crt'));
      const scheduled = await cluster.until('the scheduler to look at the pod', async () => {
        const { status } = await cluster.api.get('/api/v1/namespaces/default/pods/unbound');
        return (status.conditions as { type: string; reason: string }[] | undefined)?.find((c) => c.type === 'PodScheduled');
      });
      assert.equal(scheduled.reason, 'Unschedulable');
    });

    await t.test('a stranger is refused', async () => {
      const stranger = await newAuthority('other');
      const client = new ApiClient(cluster.server, cluster.ca.certPem, await stranger.client({ commonName: 'kubernetes-admin' }));
      await assert.rejects(client.get('/api/v1/nodes'), (e) => e instanceof ApiRequestError && e.status === 401);
      client.close();
      const { users } = parse(await readFile(cluster.kubeconfig, 'utf8')) as { users: { user: Record<string, string> }[] };
      const pem = Buffer.from(users[0]?.user['client-certificate-data'] ?? '', 'base64').toString();
      assert.ok(new X509Certificate(pem).verify(new X509Certificate(cluster.ca.certPem).publicKey));
    });

    await t.test('the API server comes back on its port with its objects', async () => {
      await cluster.stopApiserver('SIGKILL');
      assert.equal(await cluster.api.ready(), false);
      await cluster.startApiserver();
      assert.equal((await cluster.api.get('/api/v1/nodes/a')).metadata.name, 'a');
      pids.push(cluster.apiserver.pid() ?? assert.fail());
    });
  }
  assert.deepEqual(await traces(ran), []);
  for (const pid of pids) assert.ok(!existsSync(`/proc/${pid}`), `pid ${pid} lives`);
  assert.doesNotMatch(await mustRun('ip', ['-br', 'link']), new RegExp(`^kts${ran.index}\\b`, 'm'));
});
