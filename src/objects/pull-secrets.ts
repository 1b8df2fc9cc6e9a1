import type { Pod } from '../api/types.ts';
import type { Logger } from '../observe/log.ts';
import type { SecretValue } from './object-kind.ts';

/** A secret that may hold credentials for registries. */
export interface PullSecret {
  namespace: string;
  name: string;
  uid: string;
  type: string;
  data: ReadonlyMap<string, Uint8Array>;
}

export interface FoundPullSecrets {
  /** In the pod's order. */
  secrets: PullSecret[];
  /** Names of those that could not be read. */
  missing: string[];
}

/** The imagePullSecrets of a pod. A missing one is told, and the pull goes on without it. Never rejects. */
export async function pullSecretsOf(
  pod: Pod,
  read: (namespace: string, name: string) => Promise<SecretValue | undefined>,
  log: Logger,
): Promise<FoundPullSecrets> {
  const { namespace, name: podName } = pod.metadata;
  // Entries without a name are allowed by the API server.
  const names = (pod.spec.imagePullSecrets ?? []).flatMap(({ name }) => (name === undefined || name === '' ? [] : [name]));
  const found = await Promise.all(
    names.map(async (name) => {
      const secret = await read(namespace, name).catch((err: unknown) => (err instanceof Error ? err : new Error(String(err))));
      return { name, secret };
    }),
  );
  const secrets: PullSecret[] = [];
  const missing: string[] = [];
  for (const { name, secret } of found) {
    if (secret !== undefined && !(secret instanceof Error)) {
      const { uid, type, data } = secret;
      secrets.push({ namespace, name, uid, type, data });
      continue;
    }
    missing.push(name);
    const reason = secret === undefined ? 'not found' : secret.message;
    log.info('Unable to retrieve pull secret, the image pull may not succeed.', {
      pod: `${namespace}/${podName}`,
      secret: `${namespace}/${name}`,
      reason,
    });
  }
  return { secrets, missing };
}
