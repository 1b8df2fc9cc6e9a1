import { posix } from 'node:path';
import type { PodUid } from '../api/brands.ts';
import type { Pod } from '../api/types.ts';
import { isCriError } from '../cri/errors.ts';
import type { CriRuntime } from '../cri/ports.ts';
import type { Files } from '../host/files.ts';
import type { PodObserver } from './ports.ts';

export interface CleanupDeps {
  runtime: Pick<CriRuntime, 'removePodSandbox' | 'stopPodSandbox'>;
  remover: { remove(containerId: string): Promise<void> };
  observer: PodObserver;
  files: Files;
  podsDir: string;
  podLogDir(pod: Pod): string;
}

/**
 * Removes what a stopped pod left behind once nobody asks for it any more: dead containers, sandboxes, its directory,
 * its logs. Nothing that still runs is touched: then the clean-up is refused and tried again later.
 */
export class PodCleanup {
  readonly #deps: CleanupDeps;

  constructor(deps: CleanupDeps) {
    this.#deps = deps;
  }

  /** Rejects when something of the pod still runs, or the runtime or the disk refuses. */
  async remove(uid: PodUid, pod: Pod): Promise<void> {
    const { runtime, remover, observer, files, podsDir, podLogDir } = this.#deps;
    const observed = await observer.observe(uid);
    const alive = observed.containers.find((c) => c.state === 'running' || c.state === 'unknown');
    if (alive !== undefined) throw new Error(`container ${alive.name} still runs`);
    // All must be over before a retry may begin: a failure does not end the other calls.
    const removals = await Promise.allSettled(observed.containers.map((c) => remover.remove(c.id)));
    for (const r of removals) if (r.status === 'rejected') throw r.reason;
    for (const sandbox of observed.sandboxes) {
      if (sandbox.state === 'ready') await gone(runtime.stopPodSandbox(sandbox.id));
      await gone(runtime.removePodSandbox(sandbox.id));
    }
    await files.removeTree(posix.join(podsDir, uid));
    await files.removeTree(podLogDir(pod));
  }
}

async function gone(call: Promise<void>): Promise<void> {
  try {
    await call;
  } catch (err) {
    if (!isCriError(err, 'NotFound')) throw err;
  }
}
