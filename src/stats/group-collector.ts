import { type BlockDevices, filesystemCounts, readBlockDevices } from '../host/block-devices.ts';
import type { CgroupFs } from '../host/cgroups/cgroup-fs.ts';
import { type CgroupStats, readCgroupStats } from '../host/cgroups/cgroup-stats.ts';
import type { Clock } from '../host/clock.ts';
import { usedSwap } from '../host/machine.ts';
import { networkOf, openFilesOf, softFileLimit } from '../host/process-stats.ts';
import type { ObservedPod } from '../pleg/types.ts';
import { CpuRates } from './cpu-rates.ts';
import type { Group, GroupSample } from './group.ts';
import { plainGroup, podGroups } from './pod-groups.ts';

export interface GroupCollectorDeps {
  cgroups: Pick<CgroupFs, 'version' | 'read' | 'children'>;
  /** Groups of pods on the machine. */
  podGroups(): Promise<readonly { uid: string; path: string }[]>;
  /** The group of all pods, and those of the QoS classes. */
  nodeGroups: { pods: string; classes: readonly string[] };
  /** Other groups that are the node's: the agent's own, the runtime's, the system's. */
  systemGroups: readonly string[];
  observed(): Iterable<ObservedPod>;
  /** What the runtime makes sandboxes of; empty when it does not tell. */
  sandboxImage(): Promise<string>;
  /** Directories whose mounts are not the machine's own. */
  notBelow: readonly string[];
  /** Bytes of the machine. */
  capacity: { memory: number; swap: number };
  clock: Pick<Clock, 'now'>;
}

/** One reading of all groups. */
export interface Collection {
  atMs: number;
  samples: readonly GroupSample[];
  devices: BlockDevices;
}

/** Groups read side by side: each is about twenty small files. */
const AT_ONCE = 8;
/** Readings that are asked for within this time of the last one are that one. */
const FRESH_MS = 1_000;

/** Measures every control group that is the node's. Several who ask at once share one reading. */
export class GroupCollector {
  readonly #deps: GroupCollectorDeps;
  readonly #rates = new CpuRates();
  #last: { atMs: number; collection: Promise<Collection> } | undefined;

  constructor(deps: GroupCollectorDeps) {
    this.#deps = deps;
  }

  collect(): Promise<Collection> {
    const atMs = this.#deps.clock.now();
    const last = this.#last;
    if (last !== undefined && atMs >= last.atMs && atMs - last.atMs < FRESH_MS) return last.collection;
    const collection = this.#collect(atMs);
    this.#last = { atMs, collection };
    collection.catch(() => {
      this.#last = undefined;
    });
    return collection;
  }

  async #collect(atMs: number): Promise<Collection> {
    const [groups, devices] = await Promise.all([this.#groups(), readBlockDevices()]);
    const samples: GroupSample[] = [];
    const queue = groups.values();
    const work = async () => {
      for (const group of queue) {
        const sample = await this.#sample(group, devices);
        if (sample !== undefined) samples.push(sample);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    this.#rates.keep(new Set(samples.map((s) => s.path)));
    return { atMs, samples: samples.sort((a, b) => (a.path < b.path ? -1 : 1)), devices };
  }

  async #groups(): Promise<Group[]> {
    const { podGroups: list, nodeGroups, systemGroups, observed, cgroups, sandboxImage } = this.#deps;
    const [found, image] = await Promise.all([list(), sandboxImage()]);
    const pods = new Map([...observed()].map((pod) => [pod.uid as string, pod]));
    const ofPods = await Promise.all(
      found.map(async ({ uid, path }) => podGroups(path, uid, await cgroups.children(path), pods.get(uid), image)),
    );
    const plain: Group[] = [
      plainGroup('root', '/'),
      plainGroup('node', nodeGroups.pods),
      ...nodeGroups.classes.map((path) => plainGroup('qos', path)),
      ...systemGroups.map((path) => plainGroup('system', path)),
    ];
    // A group may have two parts to play; it is measured once.
    return [...new Map([...plain, ...ofPods.flat()].toReversed().map((g) => [g.path, g])).values()].reverse();
  }

  /** Undefined when the group went meanwhile. */
  async #sample(group: Group, devices: BlockDevices): Promise<GroupSample | undefined> {
    const { cgroups, clock, notBelow } = this.#deps;
    const [read, procs] = await Promise.all([
      readCgroupStats(cgroups, group.path, () => clock.now()),
      cgroups.read(group.path, 'cgroup.procs').catch(() => undefined),
    ]);
    const stats = group.kind === 'root' ? await this.#ofMachine(read) : read;
    if (stats.cpu === undefined && stats.memory === undefined) return undefined;
    const pids = (procs ?? '').split('\n').flatMap((line) => (/^[1-9]\d*$/.test(line) ? [Number(line)] : []));
    const first = group.kind === 'root' ? 1 : group.kind === 'container' || group.kind === 'sandbox' ? pids[0] : undefined;
    const hasNetwork = group.kind === 'root' || group.kind === 'sandbox';
    const [openFiles, limit, network, filesystems] = await Promise.all([
      openFilesOf(pids),
      first === undefined ? undefined : softFileLimit(first),
      first === undefined || !hasNetwork ? undefined : networkOf(first),
      group.kind === 'root' ? filesystemCounts(notBelow, devices) : undefined,
    ]);
    const rate = stats.cpu === undefined ? undefined : this.#rates.look(group.path, stats.cpu.total, stats.atMs);
    return {
      ...group,
      stats,
      processes: pids.length,
      openFiles,
      ...(rate === undefined ? {} : { cpuRate: rate }),
      ...(limit === undefined ? {} : { softFileLimit: limit }),
      ...(network === undefined ? {} : { network }),
      ...(filesystems === undefined ? {} : { filesystems }),
    };
  }

  /** The root may use the whole machine; on v2 it has no file that tells its swap. */
  async #ofMachine(stats: CgroupStats): Promise<CgroupStats> {
    const { capacity, cgroups } = this.#deps;
    const limits = { ...stats.limits, memory: capacity.memory, swap: capacity.swap };
    if (stats.memory === undefined || cgroups.version === 1) return { ...stats, limits };
    return { ...stats, limits, memory: { ...stats.memory, swap: await usedSwap() } };
  }
}
