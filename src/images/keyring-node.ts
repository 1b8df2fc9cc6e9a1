import { posix } from 'node:path';
import type { Clock } from '../host/clock.ts';
import { type Files, isErrno } from '../host/files.ts';
import type { Logger } from '../observe/log.ts';
import { type Credential, CredentialIndex } from './credential-index.ts';
import { type DockerConfig, parseDockerCfg, parseDockerConfigJson } from './docker-config.ts';

/** How long what was read counts. */
const LifetimeMs = 5 * 60_000;

export interface NodeKeyringDeps {
  files: Pick<Files, 'read'>;
  clock: Pick<Clock, 'monotonic'>;
  log: Logger;
  /** --root-dir */
  rootDir: string;
  workingDir: string;
  /** '' when the process has none. */
  homeDir: string;
}

/**
 * The credentials of the node itself: the first docker configuration that can be read of config.json in the root
 * directory, the working directory, ~/.docker and /.docker, then of .dockercfg in the first two, ~ and /.
 */
export class NodeKeyring {
  readonly #deps: NodeKeyringDeps;
  #index = new CredentialIndex();
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(deps: NodeKeyringDeps) {
    this.#deps = deps;
  }

  async lookup(repo: string): Promise<Credential[]> {
    const now = this.#deps.clock.monotonic();
    if (now - this.#readAt >= LifetimeMs) {
      const index = new CredentialIndex();
      const refused = index.add(await this.#read());
      for (const registry of refused) this.#deps.log.warn('Entry of the docker configuration is no URL, ignoring it', { registry });
      this.#index = index;
      this.#readAt = now;
    }
    return this.#index.lookup(repo);
  }

  async #read(): Promise<DockerConfig> {
    const { rootDir, workingDir, homeDir } = this.#deps;
    const inHome = (name: string) => posix.resolve(workingDir, homeDir, name);
    for (const dir of [rootDir, workingDir, inHome('.docker'), '/.docker']) {
      const found = await this.#parse(posix.resolve(workingDir, dir, 'config.json'), parseDockerConfigJson);
      if (found !== undefined) return found;
    }
    for (const dir of [rootDir, workingDir, inHome(''), '/']) {
      const found = await this.#parse(posix.resolve(workingDir, dir, '.dockercfg'), parseDockerCfg);
      if (found !== undefined) return found;
    }
    return new Map();
  }

  async #parse(path: string, parse: (text: string) => DockerConfig): Promise<DockerConfig | undefined> {
    const { files, log } = this.#deps;
    try {
      return parse((await files.read(path)).toString());
    } catch (err) {
      if (!isErrno(err, 'ENOENT', 'ENOTDIR')) {
        log.warn('Cannot use a docker configuration', { path, reason: err instanceof Error ? err.message : String(err) });
      }
      return undefined;
    }
  }
}
