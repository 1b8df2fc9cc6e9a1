import { join } from 'node:path';
import type { PodUid } from '../api/brands.ts';
import { isCriError } from '../cri/errors.ts';
import type { CriRuntime } from '../cri/ports.ts';
import type { Clock } from '../host/clock.ts';
import { type Files, isErrno } from '../host/files.ts';
import type { Logger } from '../observe/log.ts';
import {
  type ContainerGcPolicy,
  containerIdOfLogLink,
  containersToRemove,
  evictableContainers,
  sandboxesToRemove,
  uidOfLogDirectory,
} from './container-gc.ts';
import type { ContainerRemover } from './remove-container.ts';

/** What the collector must know of pods. */
export interface PodPresence {
  /** Nobody wants the pod any more and the agent has ended it, or the agent never knew it: what it left may go. */
  isPodDeletedOrUnknown(uid: PodUid): boolean;
  /** Every source has spoken: only then is an unknown pod really gone. */
  sourcesReady(): boolean;
}

export interface ContainerCollectorDeps {
  runtime: Pick<
    CriRuntime,
    'listContainers' | 'listPodSandbox' | 'stopContainer' | 'containerStatus' | 'stopPodSandbox' | 'removePodSandbox'
  >;
  files: Pick<Files, 'list' | 'stat' | 'unlink' | 'removeTree'>;
  remover: Pick<ContainerRemover, 'remove'>;
  pods: PodPresence;
  clock: Pick<Clock, 'now'>;
  log: Logger;
  policy: ContainerGcPolicy;
  /** /var/log/pods. */
  podLogsDir: string;
  /** /var/log/containers. */
  containerLogsDir: string;
}

/** Least grace that a stop is given, in seconds (contract: pod-lifecycle.md §7). */
const minimumGrace = 2;

/** Removes what dead containers and pods leave behind: containers, sandboxes, log directories, links. */
export class ContainerCollector {
  readonly #deps: ContainerCollectorDeps;

  constructor(deps: ContainerCollectorDeps) {
    this.#deps = deps;
  }

  /**
   * One round (contract: pod-lifecycle.md §16). A single object that will not go is logged and left for the next round;
   * rejects with AggregateError when a whole step failed, after the other steps were done.
   */
  async collect(signal?: AbortSignal): Promise<void> {
    await this.#collect(this.#deps.policy, signal);
  }

  /** As `collect`, and no dead container stays, whatever the policy and the pod: the node needs the room. */
  async removeAllDead(signal?: AbortSignal): Promise<void> {
    await this.#collect({ minAgeMs: 0, maxPerContainer: 0, maxTotal: 0 }, signal);
  }

  async #collect(policy: ContainerGcPolicy, signal?: AbortSignal): Promise<void> {
    const faults: unknown[] = [];
    const containers = () => this.#containers(policy, signal);
    for (const step of [containers, this.#sandboxes, this.#logDirectories, this.#logLinks]) {
      if (signal?.aborted) return;
      try {
        await step.call(this, signal);
      } catch (err) {
        faults.push(err);
      }
    }
    if (faults.length > 0) throw new AggregateError(faults, faults.map((f) => (f instanceof Error ? f.message : String(f))).join('; '));
  }

  readonly #gone = (uid: PodUid): boolean => this.#deps.pods.sourcesReady() && this.#deps.pods.isPodDeletedOrUnknown(uid);

  async #containers(policy: ContainerGcPolicy, signal?: AbortSignal): Promise<void> {
    const { runtime, remover, clock, log } = this.#deps;
    const dead = evictableContainers(await runtime.listContainers(), policy.minAgeMs, clock.now());
    for (const c of containersToRemove(dead, policy, this.#gone)) {
      if (signal?.aborted) return;
      await this.#attempt('Failed to remove container', { containerID: c.id, podUID: c.uid }, async () => {
        if (c.unknown) {
          log.info('Container is in unknown state, try killing it before removal', { containerID: c.id });
          await runtime.stopContainer(c.id, Math.max(c.graceSeconds, minimumGrace));
        }
        await remover.remove(c.id);
      });
    }
  }

  async #sandboxes(signal?: AbortSignal): Promise<void> {
    const { runtime } = this.#deps;
    // Sandboxes first: a container that is made in between belongs to a sandbox that is ready or was not listed.
    const sandboxes = await runtime.listPodSandbox();
    const containers = await runtime.listContainers();
    for (const { id } of sandboxesToRemove(sandboxes, containers, this.#gone)) {
      if (signal?.aborted) return;
      await this.#attempt('Failed to remove sandbox', { sandboxID: id }, async () => {
        // Also one that is not ready: stopping is what gives its network back.
        await runtime.stopPodSandbox(id);
        await runtime.removePodSandbox(id);
      });
    }
  }

  async #logDirectories(signal?: AbortSignal): Promise<void> {
    const { files, podLogsDir } = this.#deps;
    if (!this.#deps.pods.sourcesReady()) return;
    for (const entry of await files.list(podLogsDir)) {
      if (signal?.aborted) return;
      const uid = uidOfLogDirectory(entry.name);
      if (entry.kind !== 'directory' || uid === undefined || !this.#gone(uid)) continue;
      const path = join(podLogsDir, entry.name);
      await this.#attempt('Failed to remove pod logs directory', { path }, () => files.removeTree(path));
    }
  }

  /** Links whose log is gone. While a log is being rotated it is missing too, so the container must be known to have ended. */
  async #logLinks(signal?: AbortSignal): Promise<void> {
    const { files, containerLogsDir, log } = this.#deps;
    let entries: Awaited<ReturnType<Files['list']>>;
    try {
      entries = await files.list(containerLogsDir);
    } catch (err) {
      if (isErrno(err, 'ENOENT')) return;
      throw err;
    }
    for (const { name, kind } of entries) {
      if (signal?.aborted) return;
      const id = containerIdOfLogLink(name);
      const path = join(containerLogsDir, name);
      if (kind !== 'symlink' || id === undefined || (await files.stat(path)) !== undefined) continue;
      if (!(await this.#hasEnded(id))) continue;
      await this.#attempt('Failed to remove container log dead symlink', { path }, () => files.unlink(path));
      log.debug(4, 'Removed symlink', { path });
    }
  }

  async #hasEnded(id: string): Promise<boolean> {
    try {
      return (await this.#deps.runtime.containerStatus(id)).state === 'exited';
    } catch (err) {
      return isCriError(err, 'NotFound');
    }
  }

  async #attempt(failure: string, values: Record<string, unknown>, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (err) {
      this.#deps.log.error(err, failure, values);
    }
  }
}
