import { writeFile } from 'node:fs/promises';
import { stringify } from 'yaml';
import type { CertificateAndKey } from './pki.ts';

export interface KubeconfigInput {
  server: string;
  caPem: string;
  user: string;
  credentials: CertificateAndKey | { token: string };
}

/** Writes a kubeconfig of one cluster and one user, readable by its owner only. Returns `path`. */
export async function writeKubeconfig(path: string, { server, caPem, user, credentials }: KubeconfigInput): Promise<string> {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'kubelet-ts', cluster: { server, 'certificate-authority-data': base64(caPem) } }],
    users: [
      {
        name: user,
        user:
          'token' in credentials
            ? { token: credentials.token }
            : { 'client-certificate-data': base64(credentials.certPem), 'client-key-data': base64(credentials.keyPem) },
      },
    ],
    contexts: [{ name: 'kubelet-ts', context: { cluster: 'kubelet-ts', user } }],
    'current-context': 'kubelet-ts',
  };
  await writeFile(path, stringify(config, { lineWidth: 0 }), { mode: 0o600 });
  return path;
}
