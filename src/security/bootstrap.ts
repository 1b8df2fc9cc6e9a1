import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { posix } from 'node:path';
import type { Files } from '../host/files.ts';
import { isErrno } from '../host/files.ts';
import { bootstrapRequestName, clientTemplate, newPrivateKey, privateKeyPem } from './certificate-request.ts';
import { CertificateStore, type HeldCertificate } from './certificate-store.ts';
import { CertificateRequestError, CLIENT_SIGNER, type RequestDeps, requestCertificate } from './request-certificate.ts';

/** Contract node.md §11: a first certificate may have to wait for somebody to approve it. */
const BOOTSTRAP_LIMIT_MS = 3_600_000;
const RETRY_MS = 5_000;

export interface BootstrapInput {
  nodeName: string;
  certDir: string;
  /** Where the node's own kubeconfig goes. */
  kubeconfig: string;
  /** The server and its authority, as the bootstrap kubeconfig has them. */
  cluster: { server: string; caPem: string | undefined; serverName: string | undefined; insecure: boolean };
}

export type BootstrapFiles = Pick<Files, 'read' | 'writeAtomic' | 'mkdir' | 'symlink' | 'rename' | 'unlink'>;

/** The store of the client's certificates. */
export function clientStore(certDir: string, files: BootstrapFiles): CertificateStore {
  return new CertificateStore(certDir, 'kubelet-client', files);
}

/**
 * Gets the node's first certificate with the credentials of a bootstrap token and writes the kubeconfig that uses it (mode
 * 0600). The key stays on disk until it is done, so that a restart goes on waiting for the same request. Rejects with the
 * signal's reason only: whatever fails is logged and tried again, since without a certificate there is no node.
 */
export async function bootstrapClient(
  deps: RequestDeps,
  files: BootstrapFiles,
  input: BootstrapInput,
  signal: AbortSignal,
): Promise<HeldCertificate> {
  const { nodeName, certDir, kubeconfig } = input;
  const { clock, log } = deps;
  const keyFile = posix.join(certDir, 'kubelet-client.key.tmp');
  const template = clientTemplate(nodeName);
  for (;;) {
    try {
      const key = await keyIn(files, certDir, keyFile);
      const name = bootstrapRequestName(template, createPublicKey(key));
      const certPem = await requestCertificate(
        deps,
        { template, key, signerName: CLIENT_SIGNER, name, timeoutMs: BOOTSTRAP_LIMIT_MS },
        signal,
      );
      const store = clientStore(certDir, files);
      const held = await store.update(certPem, privateKeyPem(key), clock.now());
      await files.mkdir(posix.dirname(kubeconfig), 0o755);
      await files.writeAtomic(kubeconfig, kubeconfigText(input, store.currentPath), 0o600);
      await files.unlink(keyFile);
      return held;
    } catch (err) {
      signal.throwIfAborted();
      log.error(err, 'Cannot get the first client certificate, trying again', { node: nodeName, retrySeconds: RETRY_MS / 1000 });
      // A request that was refused stays refused: the next one is another, with another key.
      if (isRefusal(err)) await files.unlink(keyFile);
      await clock.sleep(RETRY_MS, signal);
    }
  }
}

const isRefusal = (err: unknown) => err instanceof CertificateRequestError && err.code !== 'NotIssued';

/** The key that waits for its certificate; a new one where there is none or what is there is none. */
async function keyIn(files: BootstrapFiles, certDir: string, keyFile: string): Promise<KeyObject> {
  try {
    return createPrivateKey(await files.read(keyFile));
  } catch (err) {
    // What cannot be read must not be written over; what is no key is replaced.
    if (isErrno(err, 'EACCES', 'EIO', 'EISDIR', 'ELOOP')) throw err;
  }
  const key = await newPrivateKey();
  await files.mkdir(certDir, 0o755);
  await files.writeAtomic(keyFile, privateKeyPem(key), 0o600);
  return key;
}

/** The kubeconfig of a node whose certificate and key lie together in `pair`. JSON, which is YAML. */
export function kubeconfigText({ cluster }: Pick<BootstrapInput, 'cluster'>, pair: string): string {
  const { server, caPem, serverName, insecure } = cluster;
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'default-cluster',
        cluster: {
          server,
          ...(caPem === undefined ? {} : { 'certificate-authority-data': Buffer.from(caPem).toString('base64') }),
          ...(serverName === undefined ? {} : { 'tls-server-name': serverName }),
          ...(insecure ? { 'insecure-skip-tls-verify': true } : {}),
        },
      },
    ],
    users: [{ name: 'default-auth', user: { 'client-certificate': pair, 'client-key': pair } }],
    contexts: [{ name: 'default-context', context: { cluster: 'default-cluster', namespace: 'default', user: 'default-auth' } }],
    'current-context': 'default-context',
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}
