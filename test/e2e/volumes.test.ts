import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { nodeMounts } from '../../src/host/mounts.ts';
import { bedPrefix } from '../support/leftovers.ts';
import { shellContainer } from '../support/shellContainer.ts';
import { startCluster } from './cluster/cluster.ts';
import { podGone, podOutput } from './cluster/pods.ts';

/* Volumes that need the API server beside the kernel: claims, trust bundles, certificates of pods. */

const Default = '/api/v1/namespaces/default';
const Pods = `${Default}/pods`;
const Requests = '/apis/certificates.k8s.io/v1/namespaces/default/podcertificaterequests';

const podOf = (name: string, script: string, volumes: object[], volumeMounts: object[]) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: {
    terminationGracePeriodSeconds: 0,
    volumes,
    containers: [shellContainer('c', script, { volumeMounts })],
  },
});

test('volumes through the API server', { timeout: 600_000 }, async (t) => {
  await using cluster = await startCluster();
  const node = await cluster.addNode({ config: { syncFrequency: '2s' } });
  await node.waitReady();
  const { api } = cluster;
  const scratch = await mkdtemp(join(tmpdir(), bedPrefix('claims')));
  const output = (pod: string, pattern: RegExp) => podOutput(cluster, pod, pattern);
  const gone = (pod: string) => podGone(cluster, pod);

  try {
    await t.test('a claim of a local directory: what a pod has written is there for the next', async () => {
      const path = join(scratch, 'local');
      await mkdir(path);
      const size = { storage: '1Gi' };
      await api.post('/api/v1/persistentvolumes', {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name: 'local-1' },
        spec: {
          capacity: size,
          accessModes: ['ReadWriteOnce'],
          storageClassName: 'by-hand',
          persistentVolumeReclaimPolicy: 'Retain',
          local: { path },
          nodeAffinity: {
            required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/os', operator: 'In', values: ['linux'] }] }] },
          },
        },
      });
      const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
      const mounts = [{ name: 'data', mountPath: '/data' }];
      await api.post(`${Default}/persistentvolumeclaims`, {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'data' },
        spec: { accessModes: ['ReadWriteOnce'], storageClassName: 'by-hand', volumeName: 'local-1', resources: { requests: size } },
      });
      await api.post(Pods, podOf('writer', 'echo written > /data/f; echo done; sleep 3600', volumes, mounts));
      await output('writer', /done/);
      const pod = await api.get(`${Pods}/writer`);
      const dir = join(node.agent.rootDir, 'pods', pod.metadata.uid ?? '', 'volumes/kubernetes.io~local-volume/local-1');
      assert.deepEqual((await nodeMounts.below(dir)).length, 1);
      await api.delete(`${Pods}/writer`);
      await gone('writer');
      await cluster.until('the volume to be unmounted', async () => (await nodeMounts.below(dir)).length === 0);
      assert.equal(await readFile(join(path, 'f'), 'utf8'), 'written\n');
      await api.post(Pods, podOf('reader', 'cat /data/f; sleep 3600', volumes, mounts));
      await output('reader', /written/);
      await api.delete(`${Pods}/reader`);
      await gone('reader');
    });

    await t.test('trust bundles and certificates in a projected volume', async () => {
      const at = (name: string) => join(scratch, name);
      const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
      openssl(
        'req',
        '-x509',
        '-newkey',
        'ed25519',
        '-nodes',
        '-days',
        '2',
        '-subj',
        '/CN=test-ca',
        '-keyout',
        at('ca.key'),
        '-out',
        at('ca.pem'),
      );
      const ca = await readFile(at('ca.pem'), 'utf8');
      await api.post('/apis/certificates.k8s.io/v1/clustertrustbundles', {
        apiVersion: 'certificates.k8s.io/v1',
        kind: 'ClusterTrustBundle',
        metadata: { name: 'roots' },
        spec: { trustBundle: ca },
      });
      const sources = [
        { clusterTrustBundle: { name: 'roots', path: 'roots.pem' } },
        { podCertificate: { signerName: 'example.com/signer', keyType: 'ED25519', credentialBundlePath: 'own.pem' } },
      ];
      await api.post(
        Pods,
        podOf(
          'certified',
          'cat /tls/roots.pem /tls/own.pem; echo end; sleep 3600',
          [{ name: 'tls', projected: { sources } }],
          [{ name: 'tls', mountPath: '/tls' }],
        ),
      );
      // The signer.
      const request = await cluster.until('a request for a certificate', async () => {
        const [first] = await api.list(Requests);
        return first ?? false;
      });
      const spec = request.spec as { podName: string; stubPKCS10Request: string };
      assert.equal(spec.podName, 'certified');
      await writeFile(at('stub.der'), Buffer.from(spec.stubPKCS10Request, 'base64'));
      openssl(
        'x509',
        '-req',
        '-in',
        at('stub.der'),
        '-inform',
        'DER',
        '-CA',
        at('ca.pem'),
        '-CAkey',
        at('ca.key'),
        '-CAcreateserial',
        '-days',
        '1',
        '-out',
        at('leaf.pem'),
      );
      const certificateChain = await readFile(at('leaf.pem'), 'utf8');
      const { validFrom, validTo } = new X509Certificate(certificateChain);
      const time = (text: string) => new Date(text).toISOString().replace('.000Z', 'Z');
      const [notBefore, notAfter] = [time(validFrom), time(validTo)];
      const beginRefreshAt = time(new Date(Date.parse(notBefore) + 12 * 3_600_000).toISOString());
      const condition = { type: 'Issued', status: 'True', reason: 'Test', message: 'as asked', lastTransitionTime: notBefore };
      await api.put(`${Requests}/${request.metadata.name}/status`, {
        ...request,
        status: { conditions: [condition], certificateChain, notBefore, notAfter, beginRefreshAt },
      });
      await output('certified', /BEGIN CERTIFICATE.*BEGIN PRIVATE KEY.*BEGIN CERTIFICATE.*end/s);
      await api.delete(`${Pods}/certified`);
      await gone('certified');
      await cluster.until(
        'the directories of all pods to be gone',
        async () => (await readdir(join(node.agent.rootDir, 'pods'))).length === 0,
      );
    });
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
});
