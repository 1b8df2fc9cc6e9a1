import type { Pod } from '../api/types.ts';
import type { Logger } from '../observe/log.ts';
import { type Credential, CredentialIndex } from './credential-index.ts';
import type { CredentialProvider } from './credential-provider.ts';
import type { RepositoryKeyring } from './keyring-pod.ts';

/** The credentials of all plug-ins, sorted as one set; of the same registry those of the first plug-in come first. */
export class ProviderKeyring implements RepositoryKeyring {
  readonly #providers: readonly Pick<CredentialProvider, 'name' | 'provide'>[];
  readonly #log: Logger;

  constructor(providers: readonly Pick<CredentialProvider, 'name' | 'provide'>[], log: Logger) {
    this.#providers = providers;
    this.#log = log;
  }

  /** Never rejects: a plug-in that fails gives nothing. */
  async lookup(repo: string, pod: Pod): Promise<Credential[]> {
    const index = new CredentialIndex();
    const all = await Promise.all(this.#providers.map((provider) => this.#from(provider, repo, pod)));
    for (const provided of all) {
      const refused = provided === undefined ? [] : index.add(provided.logins, provided.source);
      for (const registry of refused) this.#log.warn('Entry of a credential provider is no URL, ignoring it', { registry });
    }
    return index.lookup(repo);
  }

  async #from(provider: Pick<CredentialProvider, 'name' | 'provide'>, repo: string, pod: Pod) {
    try {
      return await provider.provide(repo, pod);
    } catch (err) {
      const { namespace, name } = pod.metadata;
      this.#log.error(err, 'Failed to provide credentials for image', {
        provider: provider.name,
        image: repo,
        pod: `${namespace}/${name}`,
      });
      return undefined;
    }
  }
}
