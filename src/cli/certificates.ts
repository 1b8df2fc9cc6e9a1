import { X509Certificate } from 'node:crypto';
import type { ResolvedConfig } from '../config/resolve.ts';
import type { KubeletFlags } from '../config/types.ts';
import { systemClock } from '../host/clock.ts';
import { nodeFiles } from '../host/files-node.ts';
import { nodeName as ownHostname } from '../host/network.ts';
import { systemRandom } from '../host/random.ts';
import { connectApiServer } from '../kube/connect.ts';
import { Credentials } from '../kube/credentials.ts';
import { userAgent } from '../kube/http-client.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Service } from '../observe/service.ts';
import { bootstrapClient, clientStore } from '../security/bootstrap.ts';
import { CertificateManager, type CertificateManagerDeps } from '../security/certificate-manager.ts';
import { clientTemplate, servingTemplate } from '../security/certificate-request.ts';
import { CertificateStore, type HeldCertificate, heldCertificate } from '../security/certificate-store.ts';
import { ClientExpiry } from '../security/client-expiry.ts';
import { CLIENT_SIGNER, SERVING_SIGNER } from '../security/request-certificate.ts';
import { isValidAt } from '../security/rotation-time.ts';
import type { ClusterLink } from './cluster.ts';
import { kubernetesVersion } from './version.ts';

/** Contract metrics.md. */
const ROTATION_BUCKETS = [60, 3600, 14400, 86400, 604800, 2592000, 7776000, 15552000, 31104000, 124416000];

export interface KubeconfigInput {
  flags: KubeletFlags;
  nodeName: string;
  log: Logger;
  signal: AbortSignal;
}

/**
 * Makes sure that there is a kubeconfig to start with: where it is missing, or its certificate has ended, one is asked for
 * with the bootstrap kubeconfig, for as long as it takes. Rejects when neither can be used.
 */
export async function ensureKubeconfig({ flags, nodeName, log, signal }: KubeconfigInput): Promise<void> {
  const { kubeconfig, bootstrapKubeconfig, certDir } = flags;
  if (bootstrapKubeconfig === '') return;
  const problem = await kubeconfigProblem(kubeconfig, log);
  if (problem === undefined) {
    log.debug(2, 'The kubeconfig holds, no bootstrap is needed', { kubeconfig });
    return;
  }
  log.info('Asking for a client certificate with the bootstrap kubeconfig', { bootstrapKubeconfig, why: problem });
  const clients = await connectApiServer({
    kubeconfig: bootstrapKubeconfig,
    userAgent: userAgent(kubernetesVersion, ''),
    ...{ qps: 50, burst: 100, eventQps: 1, eventBurst: 1, heartbeatTimeoutMs: 10_000 },
    files: nodeFiles,
    clock: systemClock,
    log,
  });
  try {
    const { server } = clients.credentials;
    const { ca, serverName, insecure } = await clients.credentials.identity();
    const cluster = { server: server.href.replace(/\/$/, ''), caPem: ca?.toString('utf8'), serverName, insecure };
    const deps = { api: clients.main, clock: systemClock, random: systemRandom, log };
    await bootstrapClient(deps, nodeFiles, { nodeName, certDir, kubeconfig, cluster }, signal);
    // A token that lets any holder become a node has done its work.
    await nodeFiles.unlink(bootstrapKubeconfig).catch((err: unknown) => {
      log.warn('Cannot remove the bootstrap kubeconfig, whose token lets its holder become a node: remove it', {
        bootstrapKubeconfig,
        err,
      });
    });
    log.info('Got a client certificate', { kubeconfig });
  } finally {
    clients.close();
  }
}

/** Why a kubeconfig cannot be started with; undefined when it can. */
async function kubeconfigProblem(path: string, log: Logger): Promise<string | undefined> {
  if ((await nodeFiles.stat(path)) === undefined) return `${path} does not exist`;
  let cert: Buffer | undefined;
  try {
    const credentials = await Credentials.load(path, { files: nodeFiles, clock: systemClock, log });
    cert = (await credentials.identity()).cert;
  } catch (err) {
    return err instanceof Error ? err.message : String(err);
  }
  // A token or a plug-in needs no certificate.
  if (cert === undefined) return undefined;
  const { validTo } = new X509Certificate(cert);
  return systemClock.now() < new Date(validTo).getTime() ? undefined : `the client certificate of ${path} ended at ${validTo}`;
}

export interface CertificatesInput {
  flags: KubeletFlags;
  config: ResolvedConfig;
  nodeName: string;
  hostIPs: readonly string[];
  cluster: ClusterLink;
  registry: Metrics;
  log: Logger;
}

export interface Certificates {
  services: Service[];
  /** Where the serving certificate comes to lie; undefined where nobody asks for one. */
  servingFile: string | undefined;
  /** Calls `use` whenever a new serving certificate is there. */
  onServing(use: () => void): void;
  /** Rejects when the agent has had no valid client certificate for too long: only a new start can help. */
  lost: Promise<never> | undefined;
}

/** Builds what keeps the node's certificates valid, as configured. Rejects when one that is stored cannot be read. */
export async function nodeCertificates(input: CertificatesInput): Promise<Certificates> {
  const { config, cluster } = input;
  const services: Service[] = [];
  const listeners: (() => void)[] = [];
  let lost: Promise<never> | undefined;
  if (config.rotateCertificates) {
    const { manager, expiry } = await clientManager(input);
    services.push(manager, expiry);
    lost = expiry.lost;
  }
  let servingFile: string | undefined;
  if (config.serverTLSBootstrap) {
    const store = new CertificateStore(input.flags.certDir, 'kubelet-server', nodeFiles);
    servingFile = store.currentPath;
    const held = await store.current();
    const hostname = ownHostname('');
    const names = [input.nodeName, hostname];
    const template = () => servingTemplate(input.nodeName, names, cluster.hostIPs(input.hostIPs));
    const changed = () => {
      for (const listener of listeners) listener();
    };
    services.push(new CertificateManager({ ...common(input, 'serving'), signerName: SERVING_SIGNER, template, store, changed }, held));
  }
  return { services, servingFile, onServing: (use) => listeners.push(use), lost };
}

async function clientManager(input: CertificatesInput): Promise<{ manager: CertificateManager; expiry: ClientExpiry }> {
  const { flags, nodeName, cluster, log } = input;
  const store = clientStore(flags.certDir, nodeFiles);
  const held = (await store.current()) ?? (await kubeconfigCertificate(cluster.credentials));
  if (held !== undefined && isValidAt(held.leaf, systemClock.now())) cluster.credentials.useCertificate(held.certPem, held.keyPem);
  const expiry = new ClientExpiry(systemClock, log, held?.leaf.validToDate.getTime());
  const changed = (next: HeldCertificate) => {
    cluster.credentials.useCertificate(next.certPem, next.keyPem);
    expiry.validUntil(next.leaf.validToDate.getTime());
  };
  const template = () => clientTemplate(nodeName);
  const manager = new CertificateManager({ ...common(input, 'client'), signerName: CLIENT_SIGNER, template, store, changed }, held);
  return { manager, expiry };
}

/** The pair that the kubeconfig holds or names; undefined when it authenticates otherwise. */
async function kubeconfigCertificate(credentials: Credentials): Promise<HeldCertificate | undefined> {
  const { cert, key } = await credentials.identity();
  return cert === undefined || key === undefined ? undefined : heldCertificate(`${cert.toString('utf8')}\n${key.toString('utf8')}`);
}

function common({ cluster, registry, log }: CertificatesInput, kind: 'client' | 'serving') {
  const prefix = `kubelet_certificate_manager_${kind === 'client' ? 'client' : 'server'}`;
  const ttl = registry.gauge(`${prefix}_ttl_seconds`, `[ALPHA] Seconds until the ${kind} certificate ends, negative after that`);
  const metrics: CertificateManagerDeps['metrics'] = {
    ttl: (read) => registry.collect(() => ttl.set(read())),
    rotated: () => {},
    failed: () => {},
  };
  if (kind === 'client') {
    const errors = registry.counter(`${prefix}_expiration_renew_errors`, '[ALPHA] Client certificates that could not be renewed');
    metrics.failed = () => errors.inc();
  } else {
    const ages = registry.histogram(
      `${prefix}_rotation_seconds`,
      '[ALPHA] Age of serving certificates when they were replaced',
      [],
      ROTATION_BUCKETS,
    );
    metrics.rotated = (age) => ages.observe(age);
  }
  return {
    kind,
    api: cluster.api,
    clock: systemClock,
    random: systemRandom,
    log,
    trouble: (trouble: Parameters<CertificateManagerDeps['trouble']>[0]) => cluster.certificateTroubles.note(kind, trouble),
    metrics,
  };
}
