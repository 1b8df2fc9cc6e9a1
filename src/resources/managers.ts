import type { Container, Pod } from '../api/types.ts';
import type { Logger } from '../observe/log.ts';
import { guaranteedCpus, managedContainers } from './cpu/guaranteed.ts';
import type { CpuManager } from './cpu/manager.ts';
import type { MemoryManager } from './memory/manager.ts';
import { guaranteedMemory } from './memory/requests.ts';
import type { ResourceRejection, TopologyManager } from './topology/manager.ts';

/** Where a container may run. */
export interface Placement {
  /** A kernel list of CPUs; absent: any. */
  cpusetCpus?: string;
  /** A kernel list of NUMA nodes; absent: any. */
  cpusetMems?: string;
  /** It owns its CPUs, and no quota is to hold it back. */
  exclusiveCpus: boolean;
}

/** Which pods may still use what they were given. */
export interface PodActivity {
  /** Every source of pods has told its pods: before that no pod counts as gone. */
  isReady(): boolean;
  /** Containers of the pod run, or may come to run. */
  isActive(podUid: string): boolean;
}

export interface ResourceManagersDeps {
  cpu: CpuManager;
  memory: MemoryManager;
  topology: TopologyManager;
  isStatic: { cpu: boolean; memory: boolean };
  /** A container that owns CPUs gets no quota (gate DisableCPUQuotaWithExclusiveCPUs). */
  withoutQuota: boolean;
  activity: PodActivity;
  log: Logger;
}

/** CPUs and memory of containers: given out when a pod is admitted, handed to each container, taken back when the pod is over. */
export class ResourceManagers {
  readonly name = 'resource managers';
  readonly #deps: ResourceManagersDeps;

  constructor(deps: ResourceManagersDeps) {
    this.#deps = deps;
  }

  /** The admission check: why the pod cannot be given what it asks for. Idempotent. */
  admit(pod: Pod): ResourceRejection | undefined {
    this.collect();
    return this.#deps.topology.admit(pod);
  }

  /** The pod is not admitted after all, or over. */
  release(podUid: string): void {
    this.#deps.cpu.release(podUid);
    this.#deps.memory.release(podUid);
  }

  /** Takes back what pods have that are over, or that nobody asks for any more. */
  collect(): void {
    const { cpu, memory, activity, log } = this.#deps;
    if (!activity.isReady()) return;
    for (const uid of new Set([...cpu.pods(), ...memory.pods()])) {
      if (activity.isActive(uid)) continue;
      log.debug(2, 'Taking back the CPUs and memory of a pod that is over', { podUID: uid });
      this.release(uid);
    }
  }

  /**
   * Where a container that is about to be made may run. Resolves when that is on disk, so that no other process gives it away again. Rejects
   * when the node cannot give it, or when it cannot be written.
   */
  async placement(pod: Pod, container: Container): Promise<Placement> {
    const { cpu, memory } = this.#deps;
    const { uid } = pod.metadata;
    if (this.#lacks(pod)) {
      const rejection = this.admit(pod);
      if (rejection !== undefined) throw new Error(`${rejection.reason}: ${rejection.message}`);
    }
    memory.begins(pod, container);
    await Promise.all([cpu.settled(), memory.settled()]);
    const cpus = cpu.cpusOf(uid, container.name);
    const nodes = memory.nodesOf(uid, container.name);
    return {
      ...(cpus === undefined ? {} : { cpusetCpus: cpus.toString() }),
      ...(nodes === undefined ? {} : { cpusetMems: nodes.join(',') }),
      exclusiveCpus: this.hasExclusiveCpus(pod, container),
    };
  }

  /** Whether no quota is to hold the container back. */
  hasExclusiveCpus(pod: Pod, container: Container): boolean {
    return this.#deps.withoutQuota && this.#deps.cpu.isExclusive(pod.metadata.uid, container.name);
  }

  /** Whether no quota is to hold the pod back as a whole. */
  podHasExclusiveCpus(pod: Pod): boolean {
    return managedContainers(pod).some((container) => this.hasExclusiveCpus(pod, container));
  }

  /** A pod that came back under its old UID was not admitted again, and what it had is gone. */
  #lacks(pod: Pod): boolean {
    const { cpu, memory, isStatic } = this.#deps;
    const { uid } = pod.metadata;
    const containers = managedContainers(pod);
    if (isStatic.cpu && !cpu.state.assignments.has(uid) && containers.some((c) => guaranteedCpus(pod, c) > 0)) return true;
    return isStatic.memory && !memory.state.assignments.has(uid) && containers.some((c) => guaranteedMemory(pod, c).size > 0);
  }
}
