import { basename, dirname, join, normalize } from 'node:path';
import { isCriError } from '../cri/errors.ts';
import type { CriRuntime } from '../cri/ports.ts';
import type { Clock } from '../host/clock.ts';
import type { FileInfo, Files } from '../host/files.ts';
import { Rounds } from '../host/rounds.ts';
import type { Logger } from '../observe/log.ts';
import { GZIP_SUFFIX, planRotation, rotatedName, TEMPORARY_SUFFIX } from './log-files.ts';

/** When and how logs are rotated (contract: pod-lifecycle.md §12). */
export interface LogRotationPolicy {
  /** containerLogMonitorInterval. */
  intervalMs: number;
  /** containerLogMaxSize in bytes; negative: never. */
  maxSize: number;
  /** containerLogMaxFiles, the live one included. */
  maxFiles: number;
  /** containerLogMaxWorkers. */
  workers: number;
}

export interface LogRotationDeps {
  runtime: Pick<CriRuntime, 'listContainers' | 'containerStatus' | 'reopenContainerLog'>;
  files: Pick<Files, 'list' | 'stat' | 'unlink' | 'rename'>;
  /** Writes a file compressed to another. */
  gzip(from: string, to: string, mode: number, signal?: AbortSignal): Promise<void>;
  clock: Clock;
  log: Logger;
  policy: LogRotationPolicy;
  /** Logs elsewhere are not touched, whatever the runtime says. */
  podLogsDir: string;
}

/** Rotates the logs of running containers that have grown too large. */
export class LogRotation extends Rounds {
  override readonly name = 'log-rotation';
  readonly #deps: LogRotationDeps;
  /** Where the log of each running container is: asked once, it never changes. */
  readonly #paths = new Map<string, string>();

  constructor(deps: LogRotationDeps) {
    super(deps.clock);
    this.#deps = deps;
  }

  override start(signal: AbortSignal): void {
    if (this.#deps.policy.maxSize >= 0) super.start(signal);
  }

  /** One look at all running containers; what fails for one is logged and does not keep the others. */
  async rotateAll(signal: AbortSignal): Promise<void> {
    const { runtime, policy } = this.#deps;
    const running = new Set((await runtime.listContainers({ state: 'running' }, { signal })).map((c) => c.id));
    for (const id of this.#paths.keys()) if (!running.has(id)) this.#paths.delete(id);
    const ids = running.values();
    const worker = async () => {
      for (const id of ids) {
        if (signal.aborted) return;
        await this.#container(id, signal);
      }
    };
    await Promise.all(Array.from({ length: Math.max(1, policy.workers) }, worker));
  }

  protected override async round(signal: AbortSignal): Promise<number> {
    const { policy, log } = this.#deps;
    try {
      await this.rotateAll(signal);
    } catch (err) {
      if (!signal.aborted) log.error(err, 'Failed to rotate container logs');
    }
    return policy.intervalMs;
  }

  async #container(id: string, signal: AbortSignal): Promise<void> {
    const { runtime, policy, podLogsDir, log } = this.#deps;
    try {
      const path = this.#paths.get(id) ?? normalize((await runtime.containerStatus(id, { signal })).logPath);
      this.#paths.set(id, path);
      if (!path.startsWith(`${podLogsDir}/`)) return;
      const info = await this.#measure(id, path, signal);
      if (info !== undefined && info.size >= policy.maxSize) await this.#rotate(id, path, signal);
    } catch (err) {
      if (!signal.aborted && !isCriError(err, 'NotFound')) log.error(err, 'Failed to rotate log for container', { containerID: id });
    }
  }

  /** A log that somebody removed is opened anew. */
  async #measure(id: string, path: string, signal: AbortSignal): Promise<FileInfo | undefined> {
    const { files, runtime } = this.#deps;
    const info = await files.stat(path);
    if (info !== undefined) return info;
    await runtime.reopenContainerLog(id, { signal });
    return await files.stat(path);
  }

  async #rotate(id: string, path: string, signal: AbortSignal): Promise<void> {
    const { files, policy, clock, runtime, log } = this.#deps;
    const directory = dirname(path);
    const names = (await files.list(directory)).map((e) => e.name).filter((name) => name.startsWith(`${basename(path)}.`));
    const plan = planRotation(names, policy.maxFiles);
    for (const name of plan.remove) await files.unlink(join(directory, name));
    for (const name of plan.compress) await this.#compress(join(directory, name), signal);
    const rotated = rotatedName(path, clock.now());
    await files.rename(path, rotated);
    try {
      await runtime.reopenContainerLog(id, { signal });
    } catch (err) {
      // Back, so that the next round tries again and nothing that the container wrote is lost.
      await files.rename(rotated, path).catch((renameErr: unknown) => {
        log.error(renameErr, 'Failed to rename rotated log', { rotatedLog: rotated, newLog: path, containerID: id });
      });
      throw err;
    }
  }

  async #compress(path: string, signal: AbortSignal): Promise<void> {
    const { files, gzip } = this.#deps;
    const temporary = path + TEMPORARY_SUFFIX;
    try {
      const mode = (await files.stat(path))?.mode ?? 0o640;
      await gzip(path, temporary, mode, signal);
      await files.rename(temporary, path + GZIP_SUFFIX);
    } catch (err) {
      await files.unlink(temporary).catch(() => undefined);
      throw err;
    }
    await files.unlink(path);
  }
}
