import { posix } from 'node:path';
import { type Files, isErrno } from '../host/files.ts';
import { selfSigned } from './self-signed.ts';

export interface ServingFiles {
  certFile: string;
  keyFile: string;
}

export interface ServingFilesInput {
  /** As configured; both empty for a certificate of our own in `certDir`. */
  tlsCertFile: string;
  tlsPrivateKeyFile: string;
  certDir: string;
  host: string;
  /** Addresses of the node. */
  addresses: readonly string[];
  now: number;
}

/**
 * Where the serving certificate and its key lie. Without configured files they are `kubelet.crt` and `kubelet.key` in
 * `certDir`: used when both can be read, else made (key 0600). Rejects when only one of the two is there.
 */
export async function servingFiles(input: ServingFilesInput, files: Pick<Files, 'read' | 'mkdir' | 'writeAtomic'>): Promise<ServingFiles> {
  const { tlsCertFile, tlsPrivateKeyFile, certDir, host, addresses, now } = input;
  if (tlsCertFile !== '' || tlsPrivateKeyFile !== '') return { certFile: tlsCertFile, keyFile: tlsPrivateKeyFile };
  const certFile = posix.join(certDir, 'kubelet.crt');
  const keyFile = posix.join(certDir, 'kubelet.key');
  const [cert, key] = await Promise.all([isThere(files, certFile), isThere(files, keyFile)]);
  if (cert !== key) {
    const [have, lack] = cert ? [certFile, keyFile] : [keyFile, certFile];
    throw new Error(`${have} is there and ${lack} is not: a certificate and its key must come as a pair; remove the one or add the other`);
  }
  if (!cert) {
    const made = await selfSigned({ host, alternatives: addresses, now });
    await files.mkdir(certDir, 0o755);
    await files.writeAtomic(keyFile, made.keyPem, 0o600);
    await files.writeAtomic(certFile, made.certPem, 0o644);
  }
  return { certFile, keyFile };
}

async function isThere(files: Pick<Files, 'read'>, path: string): Promise<boolean> {
  try {
    await files.read(path, 1);
    return true;
  } catch (err) {
    if (isErrno(err, 'ENOENT', 'ENOTDIR')) return false;
    throw err;
  }
}
