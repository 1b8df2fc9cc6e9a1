import { CpuSet } from '../../api/cpuset.ts';
import type { CpuPlace, CpuTopology, Level } from './topology.ts';

/** `packed` fills a core before the next; `spread` takes single CPUs by number. */
export type SortingStrategy = 'packed' | 'spread';

/**
 * CPUs under collection for one container. The less that is free in a NUMA node, socket or core, the sooner it is taken from:
 * what is whole stays whole. Source: vectors cpu-assignment.
 */
export class Accumulator {
  readonly topology: CpuTopology;
  readonly #strategy: SortingStrategy;
  /** Which of NUMA nodes and sockets holds the other: the outer first. */
  readonly outer: readonly [Level, Level];
  #free: readonly CpuPlace[];
  #needed: number;
  #taken = CpuSet.empty;

  constructor(topology: CpuTopology, available: CpuSet, count: number, strategy: SortingStrategy) {
    this.topology = topology;
    this.#strategy = strategy;
    this.#free = topology.places.filter((place) => available.has(place.cpu));
    this.#needed = count;
    this.outer = topology.ids('socket').length >= topology.ids('numa').length ? ['numa', 'socket'] : ['socket', 'numa'];
  }

  get needed(): number {
    return this.#needed;
  }

  get taken(): CpuSet {
    return this.#taken;
  }

  get isSatisfied(): boolean {
    return this.#needed < 1;
  }

  get isFailed(): boolean {
    return this.#needed > this.#free.length;
  }

  /** CPUs still free in these groups. */
  freeIn(level: Level, ids: readonly number[]): CpuSet {
    return CpuSet.of(this.#free.filter((place) => ids.includes(place[level])).map((place) => place.cpu));
  }

  take(cpus: CpuSet): void {
    this.#taken = this.#taken.union(cpus);
    this.#free = this.#free.filter((place) => !cpus.has(place.cpu));
    this.#needed -= cpus.size;
  }

  /** Ids of a level that has something free, fewest free CPUs first, the levels above it sorted the same way. */
  order(level: Level): number[] {
    const [first, second] = this.outer;
    const path: Level[] = level === first ? [first] : level === second ? [first, second] : [first, second, level];
    if (level === 'uncore') path.splice(0, path.length, ...(first === 'numa' ? ['numa' as const] : this.outer), 'uncore');
    return [...new Set(this.#nested(path, this.#free))];
  }

  /** Free CPUs in the order in which single ones are taken. */
  orderedCpus(): number[] {
    if (this.#strategy === 'packed') return this.order('core').flatMap((core) => [...this.freeIn('core', [core])]);
    return this.order('socket').flatMap((socket) => [...this.freeIn('socket', [socket])]);
  }

  /** Takes whole groups while the request is at least as large as one. */
  takeWhole(level: Level): void {
    for (const id of this.order(level).filter((candidate) => this.#isWhole(level, candidate))) {
      const cpus = this.topology.cpusIn(level, id);
      if (this.#needed >= cpus.size) this.take(cpus);
    }
  }

  takeSingle(): void {
    for (const cpu of this.orderedCpus()) {
      if (this.isSatisfied) return;
      this.take(CpuSet.of([cpu]));
    }
  }

  /** Whole caches first, then the first one in which the rest fits. */
  takeUncore(): void {
    for (const uncore of this.order('uncore')) {
      if (this.#needed >= this.topology.cpusPer('uncore')) this.takeWhole('uncore');
      if (!this.isSatisfied) this.#takePartOfUncore(uncore);
      if (this.isSatisfied) return;
    }
  }

  #takePartOfUncore(uncore: number): void {
    const perCore = Math.max(1, this.topology.cpusPer('core'));
    const free = this.#free.filter((place) => place.uncore === uncore);
    const cores = [...CpuSet.of(free.map((place) => place.core))].slice(0, Math.ceil(this.#needed / perCore));
    let cpus = [...this.freeIn('core', cores)];
    // An odd rest leaves half of the last core.
    if (this.#needed % 2 !== 0 && perCore > 1 && cpus.length > this.#needed) cpus = cpus.slice(0, -1);
    if (cpus.length === this.#needed) this.take(CpuSet.of(cpus));
  }

  /**
   * Cores and sockets count as whole when they have as many free CPUs as the machine's average one, and none in use: on machines
   * with unlike cores the average alone would hand out a CPU twice.
   */
  #isWhole(level: Level, id: number): boolean {
    const free = this.freeIn(level, [id]).size;
    const isUniform = level === 'numa' || level === 'uncore' || free === this.topology.cpusPer(level);
    return isUniform && free === this.topology.cpusIn(level, id).size;
  }

  #nested(path: readonly Level[], within: readonly CpuPlace[]): number[] {
    const [level, ...below] = path;
    if (level === undefined) return [];
    const groups = Map.groupBy(within, (place) => place[level]);
    const size = new Map([...groups.keys()].map((id) => [id, this.#free.filter((place) => place[level] === id).length]));
    const ids = [...groups.keys()].sort((a, b) => (size.get(a) ?? 0) - (size.get(b) ?? 0) || a - b);
    return below.length === 0 ? ids : ids.flatMap((id) => this.#nested(below, groups.get(id) ?? []));
  }
}
