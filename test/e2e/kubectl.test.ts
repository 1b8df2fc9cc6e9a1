import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { freePorts } from '../../scripts/node/freePort.ts';
import { run } from '../../scripts/node/run.ts';
import { BUSYBOX_IMAGE } from '../support/containerd.ts';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import { goTool } from './cluster/goTools.ts';
import { newAuthority } from './cluster/pki.ts';

/** What people do with kubectl on a node: follow logs, a terminal, debugging, `top` through the real metrics-server. */

const pod = (name: string, command: string, more: { spec?: object; container?: object } = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default' },
  spec: {
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 1,
    ...more.spec,
    containers: [{ name: 'main', image: BUSYBOX_IMAGE, command: ['sh', '-c', command], ...more.container }],
  },
});

const pods = '/api/v1/namespaces/default/pods';
const lines = 30;

test('kubectl logs -f, exec -it, debug of a pod and of a node, top', async (t) => {
  await using cluster = await startAggregatingCluster();
  const node = await cluster.addNode({ name: 'n1', flags: ['--v=10'] });
  await node.waitReady();
  const metrics = await startMetricsServer(cluster);
  try {
    const counting = `i=0; while [ $i -lt ${lines} ]; do echo "line $i"; i=$((i+1)); sleep 0.1; done; echo last >&2`;
    const secret = 'secret-of-the-api-server';
    await cluster.api.post('/api/v1/namespaces/default/secrets', {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'password', namespace: 'default' },
      stringData: { password: secret, file: `${secret}-in-a-file` },
    });
    const env = [{ name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'password', key: 'password' } } }];
    const busy = 'echo "$PASSWORD" | md5sum; i=0; while true; do i=$((i+1)); [ $((i % 20000)) = 0 ] && sleep 0.2; done';
    const container = { env, volumeMounts: [{ name: 's', mountPath: '/s' }] };
    await cluster.api.post(pods, pod('idle', busy, { container, spec: { volumes: [{ name: 's', secret: { secretName: 'password' } }] } }));
    await cluster.api.post(pods, pod('counts', counting, { spec: { restartPolicy: 'Never' } }));

    await t.test('logs -f from the first line to the end of the container', async () => {
      await cluster.kubectl(['wait', 'pod/counts', '--for=jsonpath={.status.containerStatuses[0].started}=true', '--timeout=30s']);
      const all = await cluster.kubectl(['logs', '-f', 'counts'], { timeoutMs: 30_000 });
      assert.equal(all, `${Array.from({ length: lines }, (_, i) => `line ${i}\n`).join('')}last\n`);
    });

    await t.test('exec -it: a terminal with its size', async () => {
      await cluster.kubectl(['wait', 'pod/idle', '--for=condition=Ready', '--timeout=30s']);
      const command = `stty rows 33 cols 101; ${cluster.binaries.kubectl} exec -it idle -- sh -c 'sleep 1; stty size; test -t 0 && echo is a terminal'`;
      // util-linux' script gives it a terminal.
      const { code, stdout } = await run('script', ['-qec', command, '/dev/null'], { env: cluster.kubectlEnv(), timeoutMs: 30_000 });
      assert.match(stdout, /33 101\r?\nis a terminal/);
      assert.equal(code, 0);
    });

    await t.test('debug of a pod: an ephemeral container beside its processes', async () => {
      const script = 'grep -az PASSWORD /proc/1/environ >/dev/null && echo sees the other; echo debugging';
      await cluster.kubectl([
        'debug',
        'idle',
        '-c',
        'dbg',
        `--image=${BUSYBOX_IMAGE}`,
        '--target=main',
        '--profile=general',
        '--',
        'sh',
        '-c',
        script,
      ]);
      const done = '{.status.ephemeralContainerStatuses[0].state.terminated.reason}';
      await cluster.kubectl(['wait', 'pod/idle', `--for=jsonpath=${done}=Completed`, '--timeout=30s']);
      assert.match(await cluster.kubectl(['logs', 'idle', '-c', 'dbg']), /debugging/);
    });

    await t.test('debug of a node: its files and processes', async () => {
      const script = 'cat /host/etc/hostname; head -n 1 /proc/1/status';
      const told = await cluster.kubectl(['debug', 'node/n1', `--image=${BUSYBOX_IMAGE}`, '--profile=sysadmin', '--', 'sh', '-c', script]);
      const name = /node-debugger-n1-\w+/.exec(told)?.[0] ?? assert.fail(told);
      await cluster.kubectl(['wait', `pod/${name}`, '--for=jsonpath={.status.phase}=Succeeded', '--timeout=30s']);
      assert.match(await cluster.kubectl(['logs', name]), /^\S+\nName:\t\S+\n$/);
    });

    await t.test('top node and top pod, through the metrics API', async () => {
      const top = async (what: string) => {
        const { code, stdout } = await run(cluster.binaries.kubectl, ['top', what, '--no-headers'], {
          env: cluster.kubectlEnv(),
          timeoutMs: 20_000,
        });
        return code === 0 && stdout.includes(what === 'pod' ? 'idle' : 'n1') ? stdout : undefined;
      };
      const nodes = await cluster.until('kubectl top node', () => top('node'), 90_000);
      assert.match(nodes, /^n1\s+\d+m\s+\d+%\s+\d+Mi\s+\d+%/);
      const found = await cluster.until('kubectl top pod', () => top('pod'), 90_000);
      assert.match(found, /^idle\s+[1-9]\d*m\s+\d+Mi/m);
    });

    await t.test('the node’s log at its most verbose holds nothing of the secret', async () => {
      const log = await node.agent.log();
      assert.match(log, /idle/);
      assert.ok(!log.includes(secret) && !log.includes(Buffer.from(secret).toString('base64').slice(0, 24)));
    });
  } finally {
    await metrics.stop();
  }
});

/** A cluster whose API server passes the metrics API on, and shows itself there by a certificate of its own. */
async function startAggregatingCluster(): Promise<Cluster> {
  const proxy = await newAuthority('front-proxy');
  const dir = await mkdtemp(join(tmpdir(), 'kts-proxy-'));
  const { certPem, keyPem } = await proxy.client({ commonName: 'front-proxy-client' });
  await writeFile(join(dir, 'ca.crt'), proxy.certPem);
  await writeFile(join(dir, 'client.crt'), certPem);
  await writeFile(join(dir, 'client.key'), keyPem, { mode: 0o600 });
  const apiserverFlags = [
    `--requestheader-client-ca-file=${join(dir, 'ca.crt')}`,
    '--requestheader-allowed-names=front-proxy-client',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-username-headers=X-Remote-User',
    `--proxy-client-cert-file=${join(dir, 'client.crt')}`,
    `--proxy-client-key-file=${join(dir, 'client.key')}`,
    '--enable-aggregator-routing=true',
  ];
  try {
    const cluster = await startCluster({ apiserverFlags });
    await cluster.own({ folder: dir });
    return cluster;
  } catch (err) {
    await rm(dir, { recursive: true });
    throw err;
  }
}

/** The real metrics-server on the host, behind a service without a selector. */
async function startMetricsServer(cluster: Cluster): Promise<{ stop(): Promise<void> }> {
  const program = await goTool('metrics-server');
  const [port = 0] = await freePorts(1);
  const address = await cluster.newNodeAddress();
  const dir = join(cluster.dir, 'metrics-server');
  await mkdir(dir);
  const kubeconfig = cluster.kubeconfig;
  const child = spawn(
    program,
    [
      `--kubeconfig=${kubeconfig}`,
      `--authentication-kubeconfig=${kubeconfig}`,
      `--authorization-kubeconfig=${kubeconfig}`,
      `--secure-port=${port}`,
      `--cert-dir=${dir}`,
      '--kubelet-insecure-tls',
      '--kubelet-use-node-status-port',
      '--kubelet-preferred-address-types=InternalIP',
      '--metric-resolution=10s',
      '--kubelet-request-timeout=5s',
    ],
    { stdio: 'ignore' },
  );
  const ended = new Promise<void>((done) => child.once('exit', () => done()));
  const metadata = { name: 'metrics-server', namespace: 'kube-system' };
  await cluster.api.post('/api/v1/namespaces/kube-system/services', {
    apiVersion: 'v1',
    kind: 'Service',
    metadata,
    spec: { ports: [{ name: 'https', port: 443, targetPort: port }] },
  });
  await cluster.api.post('/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices', {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { ...metadata, labels: { 'kubernetes.io/service-name': 'metrics-server' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [{ name: 'https', port, protocol: 'TCP' }],
  });
  await cluster.api.post('/apis/apiregistration.k8s.io/v1/apiservices', {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: 'v1beta1.metrics.k8s.io' },
    spec: {
      group: 'metrics.k8s.io',
      version: 'v1beta1',
      service: { name: 'metrics-server', namespace: 'kube-system' },
      insecureSkipTLSVerify: true,
      groupPriorityMinimum: 100,
      versionPriority: 100,
    },
  });
  return {
    async stop() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
