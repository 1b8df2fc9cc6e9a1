import { CpuSet } from '../../api/cpuset.ts';
import { combinations } from '../combinations.ts';
import { Accumulator, type SortingStrategy } from './accumulator.ts';
import { NotEnoughCpusError, takePacked } from './take-packed.ts';
import type { CpuTopology } from './topology.ts';

export interface DistributeOptions {
  strategy: SortingStrategy;
  /** CPUs are given out in multiples of this: 1, or the CPUs of a core. */
  groupSize: number;
  /** Prefer NUMA nodes of one socket over an even spread across sockets. */
  alignBySocket: boolean;
}

/** NUMA nodes that share a request: an equal part from each, and one group more from some. */
interface Split {
  nodes: readonly number[];
  extra: readonly number[];
  /** How unequal the free CPUs of the node's NUMA nodes become: the lower the better. */
  imbalance: number;
  isWithinSocket: boolean;
}

/**
 * `count` of the available CPUs, spread evenly over as few NUMA nodes as can hold them; packed where no even spread is possible.
 * Throws NotEnoughCpusError. Source: KEP-2902; vectors cpu-assignment.
 */
export function takeDistributed(topology: CpuTopology, available: CpuSet, count: number, options: DistributeOptions): CpuSet {
  const packed = () => takePacked(topology, available, count, { strategy: options.strategy, preferUncore: false });
  const { groupSize } = options;
  if (count % groupSize !== 0) return packed();
  const accumulator = new Accumulator(topology, available, count, options.strategy);
  if (accumulator.isSatisfied) return CpuSet.empty;
  if (accumulator.isFailed) throw new NotEnoughCpusError(count, available.size);
  const nodes = accumulator.order('numa');
  const free = new Map(nodes.map((node) => [node, accumulator.freeIn('numa', [node]).size]));
  const [fewest, most] = nodesNeeded(topology, nodes.length, count, groupSize);
  for (let size = fewest; size <= most; size++) {
    const split = bestSplit(topology, nodes, free, size, count, options);
    if (split !== undefined) return takeSplit(accumulator, split, count, options) ?? packed();
  }
  return packed();
}

/** How many NUMA nodes could share the request: from as many as it fills to one for each group of CPUs. */
function nodesNeeded(topology: CpuTopology, withFree: number, count: number, groupSize: number): [fewest: number, most: number] {
  const groupsOfNode = Math.ceil(Math.ceil(topology.places.length / groupSize) / topology.ids('numa').length);
  const groups = Math.ceil(count / groupSize);
  return [Math.ceil(groups / groupsOfNode), Math.min(groups, withFree)];
}

function bestSplit(
  topology: CpuTopology,
  nodes: readonly number[],
  free: ReadonlyMap<number, number>,
  size: number,
  count: number,
  options: DistributeOptions,
): Split | undefined {
  const { alignBySocket } = options;
  let best: Split | undefined;
  for (const chosen of combinations(nodes, size)) {
    if (best?.imbalance === 0 && (!alignBySocket || best.isWithinSocket)) break;
    const split = splitOver(chosen, free, count, options);
    if (split === undefined) continue;
    const isWithinSocket = alignBySocket && topology.idsWithin('socket', 'numa', chosen).size <= 1;
    const candidate = { nodes: chosen, ...split, isWithinSocket };
    if (isBetter(candidate, best, alignBySocket)) best = candidate;
  }
  return best;
}

function isBetter(candidate: Split, best: Split | undefined, alignBySocket: boolean): boolean {
  if (alignBySocket && candidate.isWithinSocket !== (best?.isWithinSocket ?? false)) return candidate.isWithinSocket;
  return candidate.imbalance < (best?.imbalance ?? Number.POSITIVE_INFINITY);
}

function splitOver(
  nodes: readonly number[],
  free: ReadonlyMap<number, number>,
  count: number,
  { groupSize, alignBySocket }: DistributeOptions,
): Pick<Split, 'extra' | 'imbalance'> | undefined {
  const freeOf = (node: number) => free.get(node) ?? 0;
  const inGroups = (node: number) => Math.floor(freeOf(node) / groupSize) * groupSize;
  if (nodes.reduce((sum, node) => sum + inGroups(node), 0) < count) return undefined;
  const even = Math.floor(count / nodes.length / groupSize) * groupSize;
  const share = alignBySocket ? Math.min(even, ...nodes.map(inGroups)) : even;
  if (nodes.some((node) => freeOf(node) < share)) return undefined;
  const left = new Map([...free].map(([node, cpus]) => [node, nodes.includes(node) ? cpus - share : cpus]));
  const rest = count - share * nodes.length;
  if (rest === 0) return { extra: [], imbalance: deviation([...left.values()]) };
  const able = nodes.filter((node) => (left.get(node) ?? 0) >= groupSize);
  let best: Pick<Split, 'extra' | 'imbalance'> = { extra: [], imbalance: Number.POSITIVE_INFINITY };
  for (let size = able.length; size >= 1; size--) {
    for (const extra of combinations(able, size)) {
      const after = takeRest(left, extra, rest, groupSize);
      const imbalance = after === undefined ? Number.POSITIVE_INFINITY : deviation([...after.values()]);
      if (imbalance < best.imbalance) best = { extra, imbalance };
    }
  }
  return best.extra.length === 0 ? undefined : best;
}

/** What is free after a group at a time has been taken in turn; undefined when these nodes have not got so much. */
function takeRest(
  free: ReadonlyMap<number, number>,
  nodes: readonly number[],
  rest: number,
  groupSize: number,
): Map<number, number> | undefined {
  const after = new Map(free);
  let left = rest;
  while (left > 0) {
    const before = left;
    for (const node of nodes) {
      const has = after.get(node) ?? 0;
      if (left === 0 || has < groupSize) continue;
      after.set(node, has - groupSize);
      left -= groupSize;
    }
    if (left === before) return undefined;
  }
  return after;
}

/** Takes the split's CPUs; undefined when they do not come to the request. */
function takeSplit(accumulator: Accumulator, split: Split, count: number, { strategy, groupSize }: DistributeOptions): CpuSet | undefined {
  const take = (node: number, cpus: number) =>
    accumulator.take(takePacked(accumulator.topology, accumulator.freeIn('numa', [node]), cpus, { strategy, preferUncore: false }));
  const freeOf = (node: number) => accumulator.freeIn('numa', [node]).size;
  const even = Math.floor(count / split.nodes.length / groupSize) * groupSize;
  const share = Math.min(even, ...split.nodes.map((node) => Math.floor(freeOf(node) / groupSize) * groupSize));
  for (const node of split.nodes) take(node, share);
  while (!accumulator.isSatisfied) {
    const before = accumulator.needed;
    for (const node of split.extra) if (!accumulator.isSatisfied && freeOf(node) >= groupSize) take(node, groupSize);
    if (accumulator.needed === before) return undefined;
  }
  return accumulator.taken;
}

/** The standard deviation, both it and the mean to three decimals, so that equal spreads compare as equal. */
function deviation(values: readonly number[]): number {
  const round = (value: number) => Math.round(value * 1000) / 1000;
  const mean = round(values.reduce((sum, value) => sum + value, 0) / values.length);
  return round(Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length));
}
