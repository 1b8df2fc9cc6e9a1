import { CpuSet } from '../../api/cpuset.ts';

/** Where one online CPU sits. Ids of cores are the lowest CPU of each, so that they are unique on the machine. */
export interface CpuPlace {
  cpu: number;
  core: number;
  socket: number;
  numa: number;
  /** The last-level cache that only some cores of a NUMA node share; the socket where there is none of that kind. */
  uncore: number;
}

export type Level = 'core' | 'uncore' | 'socket' | 'numa';

/** The machine's CPUs as the static policy sees them. Immutable. */
export class CpuTopology {
  readonly places: readonly CpuPlace[];
  readonly cpus: CpuSet;
  readonly #byCpu: ReadonlyMap<number, CpuPlace>;
  readonly #groups: Readonly<Record<Level, ReadonlyMap<number, readonly CpuPlace[]>>>;

  constructor(places: readonly CpuPlace[]) {
    this.places = places.toSorted((a, b) => a.cpu - b.cpu);
    this.#byCpu = new Map(this.places.map((place) => [place.cpu, place]));
    this.cpus = CpuSet.of(this.#byCpu.keys());
    const by = (level: Level) => Map.groupBy(this.places, (place) => place[level]);
    this.#groups = { core: by('core'), uncore: by('uncore'), socket: by('socket'), numa: by('numa') };
  }

  place(cpu: number): CpuPlace | undefined {
    return this.#byCpu.get(cpu);
  }

  /** All CPUs of one core, cache, socket or NUMA node. */
  cpusIn(level: Level, id: number): CpuSet {
    return CpuSet.of((this.#groups[level].get(id) ?? []).map((place) => place.cpu));
  }

  /** All CPUs of these cores, caches, sockets or NUMA nodes. */
  cpusInAny(level: Level, ids: Iterable<number>): CpuSet {
    return CpuSet.empty.union(...[...ids].map((id) => this.cpusIn(level, id)));
  }

  /** Ascending. */
  ids(level: Level): number[] {
    return [...this.#groups[level].keys()].sort((a, b) => a - b);
  }

  /** The ids of one level that the CPUs of some groups of another lie in. */
  idsWithin(level: Level, of: Level, ids: Iterable<number>): CpuSet {
    return CpuSet.of([...ids].flatMap((id) => this.#groups[of].get(id) ?? []).map((place) => place[level]));
  }

  /** How many CPUs a group has on average, rounded down, as the policy counts with; 0 on a machine without CPUs. */
  cpusPer(level: Level): number {
    const groups = this.#groups[level].size;
    return groups === 0 ? 0 : Math.floor(this.places.length / groups);
  }

  /** Whether all these CPUs share one cache of the last level. */
  isUncoreAligned(cpus: CpuSet): boolean {
    return new Set([...cpus].map((cpu) => this.#byCpu.get(cpu)?.uncore)).size <= 1;
  }
}
