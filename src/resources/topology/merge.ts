import type { ProviderHints, TopologyHint } from './hint.ts';
import { countNodes, isNarrower, type NumaMask, numaMask, numaNodes } from './numa-mask.ts';

export type TopologyPolicy = 'none' | 'best-effort' | 'restricted' | 'single-numa-node';

/** The machine as hints are compared on it. */
export interface NumaInfo {
  nodes: readonly number[];
  /** With `preferClosest`: the distance from a node to each, as the kernel counts it. */
  distances?: ReadonlyMap<number, readonly number[]>;
  preferClosest: boolean;
}

export interface MergedHint {
  hint: TopologyHint;
  /** Whether the policy takes the pod with it. */
  admit: boolean;
}

const AnyNode: readonly TopologyHint[] = [{ affinity: undefined, preferred: true }];
const NoNode: readonly TopologyHint[] = [{ affinity: undefined, preferred: false }];

/**
 * The one hint that all providers can live with best, and whether the pod may come in with it. Undefined in `providers` is one without
 * any hint. Source: vectors topology-merge; KEP-693.
 */
export function mergeHints(policy: TopologyPolicy, info: NumaInfo, providers: readonly (ProviderHints | undefined)[]): MergedHint {
  if (policy === 'none') return { hint: { affinity: undefined, preferred: false }, admit: true };
  const isSingle = policy === 'single-numa-node';
  const all = isSingle ? choices(providers).map(onSingleNode) : choices(providers);
  const everywhere = numaMask(info.nodes);
  const best = bestOf(info, isSingle, all, everywhere) ?? { affinity: everywhere, preferred: false };
  const hint = isSingle && best.affinity === everywhere ? { affinity: undefined, preferred: best.preferred } : best;
  return { hint, admit: policy === 'best-effort' || hint.preferred };
}

/** For every resource of every provider, what can be chosen from. */
function choices(providers: readonly (ProviderHints | undefined)[]): (readonly TopologyHint[])[] {
  return providers.flatMap((hints) => {
    if (hints === undefined || hints.size === 0) return [AnyNode];
    return [...hints.values()].map((list) => (list === undefined ? AnyNode : list.length === 0 ? NoNode : list));
  });
}

function onSingleNode(hints: readonly TopologyHint[]): readonly TopologyHint[] {
  return hints.filter(({ affinity, preferred }) => preferred && (affinity === undefined || countNodes(affinity) === 1));
}

/**
 * The best of all combinations of one choice a resource. Combinations that come to the same are followed once: with eight nodes and three
 * resources there are 16 million of them. A preferred one always wins, so the others are looked at only where there is none.
 */
function bestOf(
  info: NumaInfo,
  isSingle: boolean,
  all: readonly (readonly TopologyHint[])[],
  everywhere: NumaMask,
): { affinity: NumaMask; preferred: boolean } | undefined {
  const distances = info.preferClosest && !isSingle ? info.distances : undefined;
  const preferred = agreed(all, everywhere).reduce<NumaMask | undefined>(
    (best, mask) => (best === undefined || isFitter(mask, best, distances) ? mask : best),
    undefined,
  );
  if (preferred !== undefined) return { affinity: preferred, preferred: true };
  const width = Math.max(0, ...all.map(narrowestCount));
  let best: NumaMask | undefined;
  for (const mask of reachable(all, everywhere)) if (best === undefined || isBetter(mask, best, width, distances)) best = mask;
  return best === undefined ? undefined : { affinity: best, preferred: false };
}

/** Where every resource can be had in a preferred way: they name the same nodes, but for those that name none. */
function agreed(all: readonly (readonly TopologyHint[])[], everywhere: NumaMask): NumaMask[] {
  const named = new Set(all.flat().flatMap(({ affinity, preferred }) => (preferred && affinity !== undefined ? [affinity] : [])));
  const isPossible = (mask: NumaMask | undefined) =>
    all.every((hints) => hints.some((hint) => hint.preferred && (hint.affinity === undefined || hint.affinity === mask)));
  const masks = [...named].filter(isPossible).map((mask) => mask & everywhere);
  return [...masks, ...(isPossible(undefined) ? [everywhere] : [])].filter((mask) => mask !== 0n);
}

/** What is left of the machine by any combination. */
function reachable(all: readonly (readonly TopologyHint[])[], everywhere: NumaMask): NumaMask[] {
  let masks = new Set([everywhere]);
  for (const hints of all) {
    const choice = new Set(hints.map(({ affinity }) => affinity ?? everywhere));
    const next = new Set<NumaMask>();
    for (const mask of masks) for (const other of choice) next.add(mask & other);
    masks = next;
  }
  masks.delete(0n);
  return [...masks];
}

/** How many nodes the narrowest hint of a resource names; 0 where none names any. */
function narrowestCount(hints: readonly TopologyHint[]): number {
  const counts = hints.flatMap(({ affinity }) => (affinity === undefined ? [] : [countNodes(affinity)]));
  return counts.length === 0 ? 0 : Math.min(...counts);
}

/**
 * Of nodes that are not preferred, those whose number comes nearest from below to `width`, what the hungriest resource needs at least, win; then
 * more of them, the fewer the better.
 */
function isBetter(candidate: NumaMask, best: NumaMask, width: number, distances: NumaInfo['distances']): boolean {
  const [a, b] = [countNodes(candidate), countNodes(best)];
  if (a > width !== b > width) return b > width;
  if (a !== b) return a > width ? a < b : a > b;
  return isFitter(candidate, best, distances);
}

function isFitter(a: NumaMask, b: NumaMask, distances: NumaInfo['distances']): boolean {
  if (distances === undefined || countNodes(a) !== countNodes(b)) return isNarrower(a, b);
  const [x, y] = [averageDistance(a, distances), averageDistance(b, distances)];
  return x === y ? a < b : x < y;
}

function averageDistance(mask: NumaMask, distances: ReadonlyMap<number, readonly number[]>): number {
  const nodes = numaNodes(mask);
  const sum = nodes.reduce((total, from) => total + nodes.reduce((row, to) => row + (distances.get(from)?.[to] ?? 0), 0), 0);
  return nodes.length === 0 ? 0 : sum / nodes.length ** 2;
}
