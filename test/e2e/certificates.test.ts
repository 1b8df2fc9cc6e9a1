import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdir, mkdtemp, readFile, readlink, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { connect } from 'node:tls';
import type { ApiObject } from './cluster/apiClient.ts';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import { writeKubeconfig } from './cluster/kubeconfig.ts';
import type { ClusterNode } from './cluster/node.ts';

/** How a node gets its certificates from a real API server and its signers, and keeps them valid. */

const HOUR = 3_600_000;
const CSRS = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const TOKEN = { id: 'abcdef', secret: '0123456789abcdef' };
const BOOTSTRAPPERS = 'system:bootstrappers:test';

const binding = (name: string, role: string, group: string) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: group }],
});

/** As kubeadm sets a cluster up: a token whose holders may ask, and an approver for clients. */
async function allowBootstrap(cluster: Cluster): Promise<void> {
  await cluster.api.post('/api/v1/namespaces/kube-system/secrets', {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: `bootstrap-token-${TOKEN.id}` },
    type: 'bootstrap.kubernetes.io/token',
    stringData: {
      'token-id': TOKEN.id,
      'token-secret': TOKEN.secret,
      'usage-bootstrap-authentication': 'true',
      'auth-extra-groups': BOOTSTRAPPERS,
    },
  });
  const bindings = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
  const approve = 'system:certificates.k8s.io:certificatesigningrequests';
  await cluster.api.post(bindings, binding('t-bootstrap', 'system:node-bootstrapper', BOOTSTRAPPERS));
  await cluster.api.post(bindings, binding('t-approve', `${approve}:nodeclient`, BOOTSTRAPPERS));
  await cluster.api.post(bindings, binding('t-renew', `${approve}:selfnodeclient`, 'system:nodes'));
}

/** The certificate that a port shows; undefined when the handshake fails. */
function shown(host: string, port: number): Promise<X509Certificate | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerX509Certificate());
      socket.destroy();
    });
    socket.once('error', () => resolve(undefined));
  });
}

const servingPort = async (node: ClusterNode) => Number(/^port: (\d+)/m.exec(await readFile(node.agent.configFile, 'utf8'))?.[1]);
const conditionOf = (object: ApiObject | undefined, type: string) =>
  ((object?.status?.conditions ?? []) as { type: string; status: string; reason: string }[]).find((c) => c.type === type);

describe('certificates of a node', () => {
  let cluster: Cluster;
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'certificates-'));
    cluster = await startCluster();
    await allowBootstrap(cluster);
  });
  after(async () => {
    await cluster?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** Requests for serving certificates that nobody has answered. */
  const pending = async () =>
    (await cluster.api.list(CSRS)).filter((csr) => {
      const { signerName } = csr['spec'] as { signerName: string };
      return signerName === 'kubernetes.io/kubelet-serving' && csr.status?.conditions === undefined;
    });

  it('bootstrap by token; the serving one waits for approval, a refusal is told', async () => {
    const kubeconfig = join(folder, 'kubelet.conf');
    const bootstrap = join(folder, 'bootstrap-kubelet.conf');
    const credentials = { token: `${TOKEN.id}.${TOKEN.secret}` };
    await writeKubeconfig(bootstrap, { server: cluster.server, caPem: cluster.ca.certPem, user: 'bootstrap', credentials });
    const node = await cluster.addNode({
      name: 'fresh',
      kubeconfig,
      flags: ['--bootstrap-kubeconfig', bootstrap],
      config: { rotateCertificates: true, serverTLSBootstrap: true },
    });
    await node.waitReady();

    assert.equal((await stat(kubeconfig)).mode & 0o777, 0o600);
    await assert.rejects(stat(bootstrap), { code: 'ENOENT' }, 'the token is not left lying about');
    const current = join(node.agent.rootDir, 'pki/kubelet-client-current.pem');
    assert.match(await readlink(current), /\/kubelet-client-\d{4}(-\d\d){5}\.pem$/);
    assert.equal((await stat(current)).mode & 0o777, 0o600);
    const client = new X509Certificate(await readFile(current));
    assert.equal(client.subject, 'O=system:nodes\nCN=system:node:fresh');

    const port = await servingPort(node);
    assert.equal(await shown(node.address, port), undefined, 'nothing is served with a certificate that nobody signed');
    const [denied] = await cluster.until('a request', async () => {
      const found = await pending();
      return found.length > 0 && found;
    });
    await cluster.kubectl(['certificate', 'deny', denied?.metadata.name ?? '']);
    await cluster.until('the condition', async () => conditionOf(await node.get(), 'CertificateNotIssued')?.reason === 'Denied', 60_000);
    await cluster.until('the event', async () =>
      (await cluster.api.list('/api/v1/namespaces/default/events')).some((e) => e['reason'] === 'CertificateDenied'),
    );
    assert.equal(conditionOf(await node.get(), 'Ready')?.status, 'True', 'pods can run all the same');

    await cluster.until('a served certificate', async () => {
      for (const csr of await pending()) await cluster.kubectl(['certificate', 'approve', csr.metadata.name]);
      return (await shown(node.address, port)) !== undefined;
    });
    const served = await shown(node.address, port);
    assert.equal(served?.subject, 'O=system:nodes\nCN=system:node:fresh');
    assert.equal(served?.checkIP(node.address), node.address);
    assert.ok(served?.verify(new X509Certificate(cluster.ca.certPem).publicKey));
    await cluster.until('all well', async () => conditionOf(await node.get(), 'CertificateNotIssued')?.status === 'False', 60_000);
    assert.doesNotMatch(await node.agent.log(), new RegExp(TOKEN.secret), 'no token in the log');

    // The next start needs neither the token nor a new certificate.
    await node.agent.kill('SIGTERM');
    await node.agent.start();
    await node.waitReady();
    assert.equal(new X509Certificate(await readFile(current)).serialNumber, client.serialNumber);
    const again = await cluster.until('the port', () => shown(node.address, port));
    assert.equal(again.serialNumber, served?.serialNumber);
    await node.stop();
  });

  it('are replaced before they end, on the connections that are open', async () => {
    const now = Date.now();
    const subject = { commonName: 'system:node:old', organizations: ['system:nodes'] };
    const old = await cluster.ca.client(subject, { from: now - 10 * HOUR, until: now + HOUR / 2 });
    const kubeconfig = await writeKubeconfig(join(folder, 'old.conf'), {
      server: cluster.server,
      caPem: cluster.ca.certPem,
      user: 'old',
      credentials: old,
    });
    const node = await cluster.addNode({ name: 'old', kubeconfig, config: { rotateCertificates: true } });
    await node.waitReady();
    const current = join(node.agent.rootDir, 'pki/kubelet-client-current.pem');
    await cluster.until('the new certificate', async () =>
      stat(current).then(
        () => true,
        () => false,
      ),
    );
    const renewed = new X509Certificate(await readFile(current));
    assert.equal(renewed.subject, 'O=system:nodes\nCN=system:node:old');
    assert.ok(renewed.validToDate.getTime() > now + HOUR);
    await cluster.until('the old connections gone', async () =>
      (await node.agent.log()).includes('Credentials for the API server changed, closing connections'),
    );
    const metrics = await (await fetch(`${node.agent.url}/metrics`)).text();
    assert.ok(Number(/^kubelet_certificate_manager_client_ttl_seconds (\S+)/m.exec(metrics)?.[1]) > 3600);
    assert.equal((await node.get())?.metadata.name, 'old');
    await node.stop();
  });

  it('that have ended are not started with, where there is a bootstrap kubeconfig', async () => {
    const now = Date.now();
    const subject = { commonName: 'system:node:late', organizations: ['system:nodes'] };
    const ended = await cluster.ca.client(subject, { from: now - 2 * HOUR, until: now - HOUR });
    const kubeconfig = join(folder, 'late.conf');
    await writeKubeconfig(kubeconfig, { server: cluster.server, caPem: cluster.ca.certPem, user: 'late', credentials: ended });
    // A key of an attempt that was killed is used on, and a link that leads nowhere is no obstacle.
    const pki = join(folder, 'late-pki');
    await mkdir(pki, { recursive: true });
    await symlink(join(pki, 'gone.pem'), join(pki, 'kubelet-client-current.pem'));
    const bootstrap = join(folder, 'late-bootstrap.conf');
    const credentials = { token: `${TOKEN.id}.${TOKEN.secret}` };
    await writeKubeconfig(bootstrap, { server: cluster.server, caPem: cluster.ca.certPem, user: 'bootstrap', credentials });
    const node = await cluster.addNode({ name: 'late', kubeconfig, flags: ['--bootstrap-kubeconfig', bootstrap, '--cert-dir', pki] });
    await node.waitReady();
    assert.ok(dirname(await readlink(join(pki, 'kubelet-client-current.pem'))) === pki);
    await node.stop();
  });
});
