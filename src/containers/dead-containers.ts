import type { Logger } from '../observe/log.ts';
import { deadContainersOfPod, type PodMember } from './container-gc.ts';
import type { ContainerRemover } from './remove-container.ts';

export interface DeadContainersDeps {
  remover: Pick<ContainerRemover, 'remove'>;
  /** `--maximum-dead-containers-per-container`. */
  maxPerContainer: number;
  log: Logger;
}

/** One always stays: its end is shown as the container's last state. */
const MIN_KEPT = 1;

/**
 * Removes older dead instances of containers (contract: pod-lifecycle.md §16, "ContainerDied"). Called by the pod's lane at the
 * end of a sync, which the death of a container brings about.
 */
export class DeadContainers {
  readonly #deps: DeadContainersDeps;
  readonly #keep: number;

  constructor(deps: DeadContainersDeps) {
    this.#deps = deps;
    this.#keep = Math.max(MIN_KEPT, deps.maxPerContainer);
  }

  /** `observed` are the containers of one pod. Never rejects: what stays is left to the collector. */
  async prune(observed: readonly PodMember[]): Promise<void> {
    const { remover, log } = this.#deps;
    const last = new Map(observed.filter((c) => c.state === 'exited').map((c) => [c.name, c.id]));
    for (const id of last.values()) {
      for (const old of deadContainersOfPod(observed, id, this.#keep)) {
        await remover.remove(old.id).catch((err: unknown) => {
          log.debug(2, 'An old container stays for now', { containerID: old.id, err });
        });
      }
    }
  }
}
