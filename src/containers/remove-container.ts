import { basename, dirname, join, normalize } from 'node:path';
import { ContainerNameLabel, PodNameLabel, PodNamespaceLabel } from '../api/annotations.ts';
import { isCriError } from '../cri/errors.ts';
import type { CriRuntime } from '../cri/ports.ts';
import type { ContainerStatus } from '../cri/types.ts';
import { type Files, isErrno } from '../host/files.ts';
import { containerLogLink } from './log-paths.ts';

export interface ContainerRemoverDeps {
  runtime: Pick<CriRuntime, 'containerStatus' | 'removeContainer'>;
  files: Pick<Files, 'list' | 'unlink'>;
  /** Such as /var/log/pods: nothing outside is removed, whatever the runtime says. */
  podLogsDir: string;
  /** /var/log/containers. */
  containerLogsDir: string;
  /** Gives back what resource managers hold for the container. */
  beforeRemove?(containerId: string): Promise<void> | void;
}

/** Removes dead containers from the runtime with what they leave in the log directories. */
export class ContainerRemover {
  readonly #deps: ContainerRemoverDeps;

  constructor(deps: ContainerRemoverDeps) {
    this.#deps = deps;
  }

  /**
   * Removes one container, its log files (rotated ones too, unless `keepLogs`) and its link. One that is gone already is
   * no error. Rejects with CriError or a file error; then the container stays, to be tried again.
   */
  async remove(id: string, keepLogs = false): Promise<void> {
    const { runtime, beforeRemove } = this.#deps;
    await beforeRemove?.(id);
    try {
      if (!keepLogs) await this.#removeLogs(id, await runtime.containerStatus(id));
      await runtime.removeContainer(id);
    } catch (err) {
      if (!isCriError(err, 'NotFound')) throw err;
    }
  }

  async #removeLogs(id: string, status: ContainerStatus): Promise<void> {
    const { files, podLogsDir, containerLogsDir } = this.#deps;
    const path = normalize(status.logPath);
    if (path.startsWith(`${podLogsDir}/`)) {
      const directory = dirname(path);
      const prefix = basename(path);
      for (const { name } of await listOrNone(files, directory)) {
        if (name.startsWith(prefix)) await files.unlink(join(directory, name));
      }
    }
    const [pod, namespace, container] = [PodNameLabel, PodNamespaceLabel, ContainerNameLabel].map((label) => status.labels[label]);
    if (pod && namespace && container)
      await files.unlink(containerLogLink(containerLogsDir, { namespace, name: pod, uid: '' }, container, id));
  }
}

async function listOrNone(files: Pick<Files, 'list'>, path: string) {
  try {
    return await files.list(path);
  } catch (err) {
    if (isErrno(err, 'ENOENT', 'ENOTDIR')) return [];
    throw err;
  }
}
