import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from '../../scripts/node/run.ts';
import { BUSYBOX_IMAGE } from '../support/containerd.ts';
import { ask } from '../support/kubeletClient.ts';
import { type Cluster, startCluster } from './cluster/cluster.ts';

/** kubectl on the kubelet's port, through a real API server. */

const podName = 'server';
const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: podName, namespace: 'default' },
  spec: {
    nodeName: 'n1',
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 1,
    containers: [
      {
        name: 'main',
        image: BUSYBOX_IMAGE,
        command: ['sh', '-c', 'i=0; while [ $i -lt 5 ]; do echo "line $i"; i=$((i+1)); done; nc -ll -p 8080 -e cat'],
        resources: { requests: { cpu: '500m' } },
      },
      { name: 'shell', image: BUSYBOX_IMAGE, command: ['sh', '-c', 'read line; echo "got $line"; sleep 600'], stdin: true },
    ],
  },
};

interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

async function waitRunning(cluster: Cluster): Promise<void> {
  for (let i = 0; i < 300; i++) {
    const found = await cluster.api.find(`/api/v1/namespaces/default/pods/${podName}`);
    const conditions = found?.status?.conditions as { type: string; status: string }[] | undefined;
    if (conditions?.some((c) => c.type === 'Ready' && c.status === 'True')) return;
    await sleep(100);
  }
  assert.fail('the pod is not Ready');
}

/** Sends `data` to a local port and resolves with as many bytes that came back. */
function echo(port: number, data: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    const chunks: Buffer[] = [];
    let size = 0;
    socket.once('error', reject);
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= data.length) {
        socket.destroy();
        resolve(Buffer.concat(chunks));
      }
    });
    socket.write(data);
  });
}

/** What a program says first. Its output stays open: kubectl ends when nobody reads it. */
async function firstLine({ stdout }: ChildProcess): Promise<string> {
  const [chunk] = stdout === null ? [''] : await once(stdout, 'data');
  stdout?.resume();
  return String(chunk);
}

test('kubectl logs, exec, attach, cp and port-forward', async (t) => {
  await using cluster = await startCluster();
  const node = await cluster.addNode({ name: 'n1' });
  await node.waitReady();
  await cluster.api.post('/api/v1/namespaces/default/pods', pod);
  await waitRunning(cluster);
  const env = cluster.kubectlEnv();
  const kubectl = (args: readonly string[], input = '', more: Record<string, string> = {}): Promise<Ran> =>
    run(cluster.binaries.kubectl, args, { env: { ...env, ...more }, input, timeoutMs: 30_000 });

  await t.test('logs', async () => {
    assert.equal(await cluster.kubectl(['logs', podName, '-c', 'main', '--tail=2']), 'line 3\nline 4\n');
    assert.match(await cluster.kubectl(['logs', podName, '-c', 'main', '--timestamps', '--tail=1']), /^\S+Z line 4\n$/);
  });

  // kubectl speaks WebSocket first; the second is what older clients speak.
  for (const websockets of ['true', 'false']) {
    const how = { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: websockets, KUBECTL_PORT_FORWARD_WEBSOCKETS: websockets };
    const kind = websockets === 'true' ? 'WebSocket' : 'SPDY';

    await t.test(`exec by ${kind}: output, errors, exit code, 1 MiB of input`, async () => {
      const exec = (script: string, input?: string) =>
        kubectl(['exec', ...(input === undefined ? [] : ['-i']), podName, '-c', 'main', '--', 'sh', '-c', script], input, how);
      const told = await exec('echo out; echo err >&2; exit 7');
      assert.equal(told.stdout, 'out\n');
      assert.match(told.stderr, /^err\n/);
      assert.equal(told.code, 7, told.stderr);
      const input = randomBytes(1 << 19).toString('hex');
      const sum = await exec('md5sum', input);
      assert.equal(sum.code, 0, sum.stderr);
      assert.equal(sum.stdout.split(' ')[0], createHash('md5').update(input).digest('hex'));
    });

    await t.test(`port-forward by ${kind}: 1 MiB there and back`, async () => {
      const child = spawn(cluster.binaries.kubectl, ['port-forward', `pod/${podName}`, ':8080'], {
        env: { ...process.env, ...env, ...how },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      try {
        const port = Number(/127\.0\.0\.1:(\d+)/.exec(await firstLine(child))?.[1] ?? assert.fail('no port'));
        const data = randomBytes(1 << 20);
        for (let i = 0; i < 2; i++) assert.ok((await echo(port, data)).equals(data));
      } finally {
        child.kill();
      }
    });
  }

  await t.test('attach', async () => {
    const child = spawn(cluster.binaries.kubectl, ['attach', '-i', podName, '-c', 'shell'], {
      env: { ...process.env, ...env },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    try {
      child.stdin.write('hello\n');
      assert.match(await firstLine(child), /got hello/);
    } finally {
      child.kill();
    }
  });

  await t.test('cp there and back', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kts-cp-'));
    try {
      const data = randomBytes(300_000);
      await writeFile(join(folder, 'there'), data);
      await cluster.kubectl(['cp', join(folder, 'there'), `${podName}:/tmp/there`, '-c', 'main']);
      await cluster.kubectl(['cp', `${podName}:/tmp/there`, join(folder, 'back'), '-c', 'main']);
      assert.ok((await readFile(join(folder, 'back'))).equals(data));
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  await t.test('the node asks the API server who may what', async () => {
    const port = Number((await cluster.api.get('/api/v1/nodes/n1')).status?.daemonEndpoints?.kubeletEndpoint?.Port);
    const configz = await cluster.kubectl(['get', '--raw', '/api/v1/nodes/n1/proxy/configz']);
    assert.match(configz, /"kubeletconfig"/);
    const jane = await cluster.ca.client({ commonName: 'jane' });
    const client = { host: node.address, port, cert: jane.certPem, key: jane.keyPem };
    const refused = await ask(client, '/pods');
    assert.deepEqual(
      [refused.status, refused.body.toString()],
      [403, 'Forbidden (user=jane, verb=get, resource=nodes, subresource(s)=[pods proxy])\n'],
    );
    assert.equal((await ask({ host: node.address, port, token: 'made-up' }, '/pods')).status, 401);
    const rules = [{ apiGroups: [''], resources: ['nodes/stats', 'nodes/metrics', 'nodes/proxy'], verbs: ['get'] }];
    const rbac = '/apis/rbac.authorization.k8s.io/v1';
    await cluster.api.post(`${rbac}/clusterroles`, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'reader' },
      rules,
    });
    await cluster.kubectl([
      'create',
      'clusterrolebinding',
      'reader',
      '--clusterrole=reader',
      '--user=joe',
      '--serviceaccount=default:default',
    ]);
    const joe = await cluster.ca.client({ commonName: 'joe' });
    const reader = { host: node.address, port, cert: joe.certPem, key: joe.keyPem };
    for (let i = 0; i < 50 && (await ask(reader, '/pods')).status !== 200; i++) await sleep(100);
    assert.equal((await ask(reader, '/pods')).status, 200);
    assert.equal((await ask(reader, '/stats/summary')).status, 200);
    assert.equal((await ask(reader, '/logs/')).status, 403);
    // Reading does not let anybody run a command, though a WebSocket begins as GET.
    const exec = await ask(reader, `/exec/default/${podName}/main?command=id&output=1`);
    assert.match(exec.body.toString(), /^Forbidden \(user=joe, verb=create, resource=nodes, subresource\(s\)=\[proxy\]\)/);
    const token = (await cluster.kubectl(['create', 'token', 'default'])).trim();
    assert.equal((await ask({ host: node.address, port, token }, '/stats/summary')).status, 200);
    assert.equal((await ask({ host: node.address, port, token }, '/run/default/x/y', { method: 'POST' })).status, 403);
  });
});
