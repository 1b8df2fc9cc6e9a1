import { getPodQOS } from '../api/qos.ts';
import { podRequests } from '../api/resources.ts';
import type { Pod, PodQOSClass } from '../api/types.ts';
import type { CgroupFs, CgroupRefusal } from '../host/cgroups/cgroup-fs.ts';
import { CgroupError } from '../host/cgroups/cgroup-fs.ts';
import type { CgroupSettings } from '../host/cgroups/settings.ts';
import type { Logger } from '../observe/log.ts';
import type { CgroupDriver, CgroupName } from './cgroup-names.ts';
import { cgroupName, cgroupParent, cgroupPath, nodeAllocatableName, parseSystemd, podCgroupSuffix } from './cgroup-names.ts';
import { MIN_SHARES, milliCpuToShares } from './cpu.ts';
import type { PodsLimits } from './node-allocatable.ts';
import { podCgroupConfig, podLevelMemoryHigh } from './pod-cgroup-config.ts';
import { readMemoryUsage } from './pod-cgroup-values.ts';
import { type QosReserve, qosMemoryLimits } from './qos-reserve.ts';

export interface PodCgroupsOptions {
  cgroupDriver: CgroupDriver;
  /** As configured; empty is `/`. */
  cgroupRoot: string;
  cgroupsPerQOS: boolean;
  /** 0 or below: no limit. */
  podPidsLimit: number;
  cpuCFSQuota: boolean;
  /** Microseconds. */
  cpuCFSQuotaPeriodUs: number;
  /** The MemoryQoS gate; it has an effect on cgroup v2 only. */
  memoryQoS: boolean;
  memoryReservationPolicy: string;
  memoryThrottlingFactor?: number;
  /** Memory that the classes above keep from those below. */
  qosReserve?: QosReserve;
  /** Limits of the group above all pods. */
  limits: PodsLimits;
  /** Memory page size in bytes. */
  pageSize?: number;
}

export interface PodCgroupsDeps {
  fs: CgroupFs;
  log: Logger;
  /** Takes the node's events about its limits. */
  nodeEvent?: (type: 'Normal' | 'Warning', reason: string, message: string) => void;
  /** Containers of the pod own CPUs: no quota is to hold it back. */
  hasExclusiveCpus?: (pod: Pod) => boolean;
  /** True while volumes of that pod are still mounted: its group is then kept, with the least CPU. */
  hasVolumes?: (uid: string) => Promise<boolean>;
}

/** A pod's group found on the machine. */
export interface FoundPodCgroup {
  uid: string;
  qos: PodQOSClass;
  path: string;
}

/** What a pod adds to its class: thousandths of a CPU, bytes. */
interface PodShare {
  cpu: number;
  memory: number;
}

const PodPrefix = podCgroupSuffix('');
/** No limit on huge pages for the groups between the node's and the pods'. */
const Unbounded = 2 ** 62;
/** Every so many sweeps looks into every hierarchy, where a group may have been left half-removed. */
const ThoroughSweep = 30;
const Tiered = 'TieredReservation';
const DefaultPageSize = 4096;

/** The group under which all pods live: what the machine's control groups may be changed below. */
export function podCgroupsScope(options: Pick<PodCgroupsOptions, 'cgroupRoot' | 'cgroupsPerQOS' | 'cgroupDriver'>): string {
  return cgroupPath(nodeAllocatableName(options.cgroupRoot, options.cgroupsPerQOS), options.cgroupDriver);
}

/** The control groups of pods and of their QoS classes. Source: contract node.md §4. */
export class PodCgroups {
  readonly #options: PodCgroupsOptions;
  readonly #deps: PodCgroupsDeps;
  readonly #names: Record<PodQOSClass, CgroupName>;
  /** Pods whose group this process has made or found in order. */
  readonly #known = new Map<string, FoundPodCgroup & PodShare>();
  readonly #destroying = new Set<string>();
  readonly #warned = new Set<string>();
  #qosWritten = '';
  #qosWrites: Promise<void> = Promise.resolve();
  #limitsInForce = false;
  #sweeps = 0;

  constructor(options: PodCgroupsOptions, deps: PodCgroupsDeps) {
    this.#options = options;
    this.#deps = deps;
    const root = nodeAllocatableName(options.cgroupRoot, options.cgroupsPerQOS);
    this.#names = { Guaranteed: root, Burstable: cgroupName(root, 'burstable'), BestEffort: cgroupName(root, 'besteffort') };
  }

  /**
   * Makes the groups above the pods. Throws when they cannot be made at all, naming the configuration field; a limit
   * that the kernel refuses is a warning.
   */
  async setup(): Promise<void> {
    const { cgroupDriver, cgroupRoot, cgroupsPerQOS } = this.#options;
    if (!cgroupsPerQOS) return;
    const root = this.#names.Guaranteed.length > 1 ? cgroupPath(this.#names.Guaranteed.slice(0, -1), cgroupDriver) : '/';
    if (root !== '/' && !(await this.#deps.fs.exists(root))) {
      throw new Error(`cgroupRoot: control group ${JSON.stringify(cgroupRoot)} does not exist in every hierarchy; create it first`);
    }
    await this.#applyLimits(true);
    const { fs } = this.#deps;
    const hugetlb = new Map([...this.#options.limits.hugepages.keys()].map((size) => [size, Unbounded]));
    const unified = this.#isTiered() ? {} : { unified: { 'memory.low': '0' } };
    this.#warn(await fs.create(this.#path('Burstable'), { hugetlb, ...unified }), 'QoS class Burstable');
    this.#warn(await fs.create(this.#path('BestEffort'), { cpuShares: MIN_SHARES, hugetlb }), 'QoS class BestEffort');
  }

  /** The group above all pods, as a path below the root of the control groups. */
  get root(): string {
    return this.#path('Guaranteed');
  }

  /** What the runtime is told as the sandbox's cgroup_parent; empty without groups per QoS class. */
  parentFor(pod: Pod): string {
    if (!this.#options.cgroupsPerQOS) return '';
    return cgroupParent(this.#podName(pod), this.#options.cgroupDriver);
  }

  /** True when the pod's group is complete, and always without groups per QoS class. */
  async exists(pod: Pod): Promise<boolean> {
    return !this.#options.cgroupsPerQOS || this.#deps.fs.exists(this.#podPath(pod));
  }

  /** Makes the pod's group with its limits. Throws CgroupError when it cannot be made; a refused limit is a warning. */
  async ensurePod(pod: Pod): Promise<void> {
    if (!this.#options.cgroupsPerQOS) return;
    const { uid } = pod.metadata;
    const path = this.#podPath(pod);
    if (this.#known.get(uid)?.path === path && (await this.#deps.fs.exists(path))) return;
    this.#known.set(uid, { uid, qos: getPodQOS(pod), path, ...requestsOf(pod) });
    const [refusals] = await Promise.all([this.#deps.fs.create(path, this.#podSettings(pod)), this.#writeQOS()]);
    this.#warn(refusals, 'pod');
  }

  /** The pod's group; undefined without groups per QoS class. */
  pathOf(pod: Pod): string | undefined {
    return this.#options.cgroupsPerQOS ? this.#podPath(pod) : undefined;
  }

  /** What the pod's group is set to when it is made. */
  settingsOf(pod: Pod): CgroupSettings {
    return this.#podSettings(pod);
  }

  /** The pod's requests are other ones now: its class weighs as much as its pods. */
  async resized(pod: Pod): Promise<void> {
    const known = this.#known.get(pod.metadata.uid);
    if (known === undefined) return;
    this.#known.set(known.uid, { ...known, ...requestsOf(pod) });
    await this.#writeQOS();
  }

  /** Kills what is left in the pod's group and removes it. Missing is fine. Throws CgroupError when it stays. */
  async destroyPod(pod: Pod): Promise<void> {
    if (!this.#options.cgroupsPerQOS) return;
    const { uid } = pod.metadata;
    await this.#destroy(uid, this.#known.get(uid)?.path ?? this.#podPath(pod));
  }

  /** Groups of pods on the machine. `everywhere` also finds those left in one hierarchy only. */
  async listPods(everywhere = false): Promise<FoundPodCgroup[]> {
    if (!this.#options.cgroupsPerQOS) return [];
    const classes: PodQOSClass[] = ['Guaranteed', 'Burstable', 'BestEffort'];
    const found = await Promise.all(
      classes.map(async (qos) => {
        const names = await this.#deps.fs.children(this.#path(qos), everywhere);
        const found = names.map((name) => ({ suffix: this.#suffixOf(name), path: `${this.#path(qos)}/${name}` }));
        const pods = found.filter(({ suffix }) => suffix.startsWith(PodPrefix) && suffix.length > PodPrefix.length);
        return pods.map(({ suffix, path }) => ({ uid: suffix.slice(PodPrefix.length), qos, path }));
      }),
    );
    return found.flat();
  }

  /** Removes the groups of pods that nobody knows, side by side and without failing: what stays is tried again next time. */
  async sweep(isKnown: (uid: string) => boolean): Promise<void> {
    const found = await this.listPods(this.#sweeps++ % ThoroughSweep === 0);
    const orphans = found.filter(({ uid }) => !isKnown(uid) && !this.#destroying.has(uid));
    await Promise.all(
      orphans.map(async ({ uid, path }) => {
        try {
          if ((await this.#deps.hasVolumes?.(uid)) === true) await this.#reduceCpu(path);
          else await this.#destroy(uid, path);
        } catch (err) {
          this.#deps.log.error(err, 'Failed to remove the control group of a pod that is gone', { podUID: uid, path });
        }
      }),
    );
  }

  /** Brings the QoS classes in line with these pods, and tries refused node limits again. Meant for once a minute. */
  async updateQOS(activePods: readonly Pod[]): Promise<void> {
    if (!this.#options.cgroupsPerQOS) return;
    const active = new Map(activePods.map((pod) => [pod.metadata.uid, pod]));
    for (const [uid, known] of this.#known) {
      const pod = active.get(uid);
      if (pod === undefined) this.#known.delete(uid);
      else this.#known.set(uid, { ...known, ...requestsOf(pod) });
    }
    this.#qosWritten = '';
    await this.#writeQOS();
    if (!this.#limitsInForce) await this.#applyLimits(false);
  }

  /** Leaves a pod the least share of the CPU, while something of it cannot be removed yet. */
  async reduceCpuToMin(uid: string): Promise<void> {
    const known = this.#known.get(uid) ?? (await this.listPods()).find((pod) => pod.uid === uid);
    if (known !== undefined) await this.#reduceCpu(known.path);
  }

  async #reduceCpu(path: string): Promise<void> {
    this.#warn(await this.#deps.fs.set(path, { cpuShares: MIN_SHARES }), 'pod');
  }

  async #destroy(uid: string, path: string): Promise<void> {
    const { fs, log } = this.#deps;
    this.#destroying.add(uid);
    try {
      // Usually nothing runs there any more: removing first saves looking for processes in every hierarchy.
      await fs.remove(path).catch(async (err: unknown) => {
        if (!(err instanceof CgroupError) || err.code !== 'Busy') throw err;
        log.info('Killing processes that are left in the control group of a pod', { podUID: uid, path });
        await fs.kill(path);
        await fs.remove(path);
      });
      this.#known.delete(uid);
    } finally {
      this.#destroying.delete(uid);
    }
    await this.#writeQOS();
  }

  #podSettings(pod: Pod): CgroupSettings {
    const { podPidsLimit, cpuCFSQuota, cpuCFSQuotaPeriodUs, memoryReservationPolicy, memoryThrottlingFactor, limits } = this.#options;
    const enforceMemoryQoS = this.#hasMemoryQoS();
    const config = podCgroupConfig(pod, {
      enforceCpuLimits: cpuCFSQuota && this.#deps.hasExclusiveCpus?.(pod) !== true,
      cpuPeriod: cpuCFSQuotaPeriodUs,
      enforceMemoryQoS,
      memoryReservationPolicy,
    });
    const high =
      enforceMemoryQoS && memoryThrottlingFactor !== undefined
        ? podLevelMemoryHigh(pod, memoryThrottlingFactor, this.#options.pageSize ?? DefaultPageSize)
        : undefined;
    const unified = { ...config.unified, ...(high === undefined ? {} : { 'memory.high': high }) };
    // A page size that the pod does not ask for is not for it; 0 of anything else means not set.
    const hugetlb = new Map([...limits.hugepages.keys()].map((size) => [size, config.hugePageLimit.get(size) ?? 0]));
    return {
      cpuShares: config.cpuShares,
      ...(config.cpuPeriod === undefined ? {} : { cpuPeriod: config.cpuPeriod }),
      ...(config.cpuQuota === undefined || config.cpuQuota === 0 ? {} : { cpuQuota: config.cpuQuota }),
      ...(config.memory === undefined || config.memory === 0 ? {} : { memory: config.memory }),
      ...(podPidsLimit > 0 ? { pids: podPidsLimit } : {}),
      hugetlb,
      unified,
    };
  }

  /** Brings the classes in line with the pods that have a group. One write at a time: the last one must be the newest. */
  #writeQOS(): Promise<void> {
    this.#qosWrites = this.#qosWrites.catch(() => {}).then(() => this.#writeQOSNow());
    return this.#qosWrites;
  }

  /** Shares and protected memory; writes only what changed. */
  async #writeQOSNow(): Promise<void> {
    const pods = [...this.#known.values()];
    const sum = (qos: PodQOSClass, what: 'cpu' | 'memory') =>
      pods.filter((pod) => pod.qos === qos).reduce((total, pod) => total + pod[what], 0);
    const cpuShares = milliCpuToShares(sum('Burstable', 'cpu'));
    const burstable = sum('Burstable', 'memory');
    const all = burstable + sum('Guaranteed', 'memory');
    const { qosReserve } = this.#options;
    const kept = qosReserve === undefined ? undefined : qosMemoryLimits(qosReserve, { guaranteed: all - burstable, burstable });
    const wanted = `${cpuShares} ${burstable} ${all}`;
    if (wanted === this.#qosWritten) return;
    this.#qosWritten = wanted;
    const low = { 'memory.low': String(burstable) };
    const { fs } = this.#deps;
    const tiered = this.#isTiered();
    const limit = async (qos: PodQOSClass, bytes: number | undefined) =>
      bytes === undefined ? {} : { memory: await this.#reachable(qos, bytes) };
    const burstableSettings = { cpuShares, ...(await limit('Burstable', kept?.burstable)), ...(tiered ? { unified: low } : {}) };
    this.#warn(await fs.set(this.#path('Burstable'), burstableSettings), 'QoS class Burstable');
    if (kept !== undefined)
      this.#warn(await fs.set(this.#path('BestEffort'), await limit('BestEffort', kept.bestEffort)), 'QoS class BestEffort');
    if (tiered) this.#warn(await fs.set(this.#path('Guaranteed'), { unified: { 'memory.min': String(all), ...low } }), 'all pods');
  }

  /** A limit below what a class uses would be refused, or end its processes: it is held where it is. */
  async #reachable(qos: PodQOSClass, bytes: number): Promise<number> {
    return Math.max(bytes, (await readMemoryUsage(this.#deps.fs, this.#path(qos))) ?? 0);
  }

  async #applyLimits(create: boolean): Promise<void> {
    const { cpu, memory, pids, hugepages } = this.#options.limits;
    const settings: CgroupSettings = {
      cpuShares: milliCpuToShares(cpu),
      memory,
      ...(pids === undefined ? {} : { pids }),
      hugetlb: hugepages,
      ...(this.#isTiered() ? {} : { unified: { 'memory.min': '0', 'memory.low': '0' } }),
    };
    const { fs, nodeEvent } = this.#deps;
    const path = this.#path('Guaranteed');
    const refusals = create ? await fs.create(path, settings) : await fs.set(path, settings);
    this.#limitsInForce = refusals.length === 0;
    this.#warn(refusals, 'all pods');
    if (this.#limitsInForce) nodeEvent?.('Normal', 'NodeAllocatableEnforced', 'Updated Node Allocatable limit across pods');
    else {
      const why = refusals.map(({ file, message }) => `${file}: ${message}`).join(', ');
      nodeEvent?.(
        'Warning',
        'FailedNodeAllocatableEnforcement',
        `Failed to update Node Allocatable Limits ${JSON.stringify(path)}: ${why}`,
      );
    }
  }

  /** One warning for each kind of refusal; a machine that refuses one pod a limit refuses it to all. */
  #warn(refusals: readonly CgroupRefusal[], whose: string): void {
    for (const { path, file, value, code, message } of refusals) {
      const kind = `${whose} ${file} ${code}`;
      const values = { group: whose, path, file, value, err: message };
      if (this.#warned.has(kind)) this.#deps.log.debug(4, 'The kernel refuses a control group setting', values);
      else this.#deps.log.warn('The kernel refuses a control group setting; going on without it', values);
      this.#warned.add(kind);
    }
  }

  #hasMemoryQoS(): boolean {
    return this.#options.memoryQoS && this.#deps.fs.version === 2;
  }

  #isTiered(): boolean {
    return this.#hasMemoryQoS() && this.#options.memoryReservationPolicy === Tiered;
  }

  #path(qos: PodQOSClass): string {
    return cgroupPath(this.#names[qos], this.#options.cgroupDriver);
  }

  /** The last part of the name of a group that was found: `pod{uid}` of a pod's. */
  #suffixOf(directory: string): string {
    if (this.#options.cgroupDriver === 'cgroupfs') return directory;
    return directory.endsWith('.slice') ? (parseSystemd(directory).at(-1) ?? '') : '';
  }

  #podName(pod: Pod): CgroupName {
    return cgroupName(this.#names[getPodQOS(pod)], podCgroupSuffix(pod.metadata.uid));
  }

  #podPath(pod: Pod): string {
    return cgroupPath(this.#podName(pod), this.#options.cgroupDriver);
  }
}

function requestsOf(pod: Pod): PodShare {
  const requests = podRequests(pod);
  return { cpu: Number(requests.get('cpu')?.milliValue() ?? 0n), memory: Number(requests.get('memory')?.value() ?? 0n) };
}
