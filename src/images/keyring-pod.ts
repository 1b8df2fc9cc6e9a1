import { parseImageName } from '../api/image-name.ts';
import type { Pod } from '../api/types.ts';
import { type Credential, CredentialIndex } from './credential-index.ts';
import { DockerConfigError, parseDockerCfg, parseDockerConfigJson } from './docker-config.ts';
import type { Keyring } from './keyring.ts';

/** A secret that a pod names for its image pulls. */
export interface RegistrySecret {
  namespace: string;
  name: string;
  uid: string;
  type: string;
  data: ReadonlyMap<string, Uint8Array>;
}

/** The imagePullSecrets of a pod: those that are there, and the names of the others. Never rejects. */
export type ReadPullSecrets = (pod: Pod) => Promise<{ secrets: readonly RegistrySecret[]; missing: readonly string[] }>;

/** Finds credentials for a repository (the image without tag and digest, with its registry) that a pod may use. */
export interface RepositoryKeyring {
  lookup(repo: string, pod: Pod): Credential[] | Promise<Credential[]>;
}

const Kinds = [
  { type: 'kubernetes.io/dockerconfigjson', key: '.dockerconfigjson', parse: parseDockerConfigJson },
  { type: 'kubernetes.io/dockercfg', key: '.dockercfg', parse: parseDockerCfg },
] as const;

/** The credentials of the pod's secrets, all sorted as one set, then those of the node: its own, then its plug-ins'. */
export class PodKeyring implements Keyring {
  readonly #secrets: ReadPullSecrets;
  readonly #node: readonly RepositoryKeyring[];

  constructor(secrets: ReadPullSecrets, ...node: readonly RepositoryKeyring[]) {
    this.#secrets = secrets;
    this.#node = node;
  }

  /** Rejects when a secret cannot be read as what it says it is. */
  async credentials(image: string, pod: Pod): Promise<Credential[]> {
    const { repo } = parseImageName(image);
    const names = pod.spec.imagePullSecrets ?? [];
    const secrets = names.length === 0 ? [] : (await this.#secrets(pod)).secrets;
    const found = indexOfSecrets(secrets).lookup(repo);
    for (const keyring of this.#node) found.push(...(await keyring.lookup(repo, pod)));
    return found;
  }

  async missingSecrets(pod: Pod): Promise<readonly string[]> {
    if ((pod.spec.imagePullSecrets ?? []).length === 0) return [];
    return (await this.#secrets(pod)).missing;
  }
}

/** Throws DockerConfigError. Secrets of other types, and those without content, give nothing. */
export function indexOfSecrets(secrets: readonly RegistrySecret[]): CredentialIndex {
  const index = new CredentialIndex();
  for (const { namespace, name, uid, type, data } of secrets) {
    const kind = Kinds.find((k) => k.type === type);
    const bytes = kind === undefined ? undefined : data.get(kind.key);
    if (kind === undefined || bytes === undefined || bytes.length === 0) continue;
    try {
      index.add(kind.parse(Buffer.from(bytes).toString()), { kind: 'secret', namespace, name, uid });
    } catch (err) {
      if (!(err instanceof DockerConfigError)) throw err;
      throw new DockerConfigError(`secret ${namespace}/${name}: ${err.message}`);
    }
  }
  return index;
}
