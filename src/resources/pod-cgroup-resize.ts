import type { Pod } from '../api/types.ts';
import type { CgroupFs } from '../host/cgroups/cgroup-fs.ts';
import { cpuWeight, sharesOfWeight } from '../host/cgroups/cpu.ts';
import type { CgroupSettings } from '../host/cgroups/settings.ts';
import { DEFAULT_QUOTA_PERIOD, MIN_SHARES } from './cpu.ts';
import { type PodCgroupValues, readMemoryUsage, readPodCgroup } from './pod-cgroup-values.ts';

/** The room of the pods' groups, as a resize needs it. */
export interface PodGroups {
  /** Undefined without groups per QoS class. */
  pathOf(pod: Pod): string | undefined;
  settingsOf(pod: Pod): CgroupSettings;
  resized(pod: Pod): Promise<void>;
}

type Part = Pick<CgroupSettings, 'cpuShares' | 'cpuQuota' | 'cpuPeriod' | 'memory' | 'unified'>;

/** Reads and changes the control groups of pods that are there already. */
export class PodCgroupResize {
  readonly #fs: Pick<CgroupFs, 'version' | 'read' | 'set'>;
  readonly #groups: PodGroups;
  /** Read once, and again after a change: a status must not cost file reads each time. */
  readonly #values = new Map<string, PodCgroupValues>();

  constructor(fs: Pick<CgroupFs, 'version' | 'read' | 'set'>, groups: PodGroups) {
    this.#fs = fs;
    this.#groups = groups;
  }

  wanted(pod: Pod): Part {
    const { cpuShares, cpuQuota, cpuPeriod, memory, unified } = this.#groups.settingsOf(pod);
    return {
      ...(cpuShares === undefined ? {} : { cpuShares }),
      ...(cpuQuota === undefined ? {} : { cpuQuota }),
      ...(cpuPeriod === undefined ? {} : { cpuPeriod }),
      ...(memory === undefined ? {} : { memory }),
      ...(unified === undefined ? {} : { unified }),
    };
  }

  /** From the kernel. Undefined when the pod has no group. */
  async current(pod: Pod): Promise<PodCgroupValues | undefined> {
    const path = this.#groups.pathOf(pod);
    const values = path === undefined ? undefined : await readPodCgroup(this.#fs, path);
    if (values === undefined) this.#values.delete(pod.metadata.uid);
    else this.#values.set(pod.metadata.uid, values);
    return values;
  }

  /** The group was just made, so it is as wanted; one that is known already is not touched here. */
  made(pod: Pod): void {
    if (this.#values.has(pod.metadata.uid) || this.#groups.pathOf(pod) === undefined) return;
    const { cpuShares = MIN_SHARES, cpuQuota = -1, cpuPeriod = DEFAULT_QUOTA_PERIOD, memory = -1 } = this.wanted(pod);
    const shares = this.#fs.version === 2 ? sharesOfWeight(cpuWeight(cpuShares)) : cpuShares;
    this.#values.set(pod.metadata.uid, { cpuShares: shares, cpuQuota, cpuPeriod, memory });
  }

  /** Rejects when the kernel refuses a part; what came before it is set. */
  async change(pod: Pod, part: Part): Promise<void> {
    const path = this.#groups.pathOf(pod);
    if (path === undefined) return;
    const [refusal] = await this.#fs.set(path, part);
    if (refusal !== undefined) throw new Error(`failed to set cgroup config: ${refusal.file} to ${refusal.value}: ${refusal.message}`);
    await this.current(pod);
    await this.#groups.resized(pod);
  }

  /** Bytes that the whole pod uses. */
  async memoryUsage(pod: Pod): Promise<number | undefined> {
    const path = this.#groups.pathOf(pod);
    return path === undefined ? undefined : await readMemoryUsage(this.#fs, path);
  }

  /** What was last read of a pod's group. */
  known(uid: string): PodCgroupValues | undefined {
    return this.#values.get(uid);
  }

  forget(uid: string): void {
    this.#values.delete(uid);
  }
}
