import { Quantity, type QuantityFormat } from '../api/quantity.ts';
import type { FsStats, MemoryStats, Summary } from '../stats/summary-types.ts';
import type { Observation, Observations } from './observations.ts';
import type { PodUsage } from './ranking.ts';
import type { Signal } from './thresholds.ts';

/** The group of all pods, by its name in the summary. */
const PodsContainer = 'pods';

type Figures = readonly [available: number | undefined, capacity: number | undefined];

/** What a summary says of each signal; times are those of its figures, wall-clock milliseconds. */
export function observationsOf({ node }: Summary): Observations {
  const pods = node.systemContainers?.find(({ name }) => name === PodsContainer)?.memory;
  const { maxpid, curproc, time = '' } = node.rlimit ?? {};
  const free = maxpid === undefined || curproc === undefined ? undefined : maxpid - curproc;
  return new Map([
    ...memoryObservations(node.memory, pods),
    ...diskObservations('nodefs', node.fs),
    ...diskObservations('imagefs', node.runtime?.imageFs),
    ...diskObservations('containerfs', node.runtime?.containerFs),
    ...observed('pid.available', [free, maxpid], time, 'DecimalSI'),
  ]);
}

/** What is left of the node's memory, and of the limit of all pods together. */
export function memoryObservations(node: MemoryStats | undefined, pods: MemoryStats | undefined): Observations {
  const of = (signal: Signal, stats: MemoryStats | undefined) => {
    const { availableBytes: available, workingSetBytes: used, time = '' } = stats ?? {};
    const capacity = available === undefined || used === undefined ? undefined : available + used;
    return observed(signal, [available, capacity], time, 'BinarySI');
  };
  return new Map([...of('memory.available', node), ...of('allocatableMemory.available', pods)]);
}

function diskObservations(name: 'nodefs' | 'imagefs' | 'containerfs', fs: FsStats | undefined): [Signal, Observation][] {
  if (fs === undefined) return [];
  return [
    ...observed(`${name}.available`, [fs.availableBytes, fs.capacityBytes], fs.time, 'BinarySI'),
    ...observed(`${name}.inodesFree`, [fs.inodesFree, fs.inodes], fs.time, 'DecimalSI'),
  ];
}

/** Nothing where a figure is missing: what is not known is not short. */
function observed(signal: Signal, [available, capacity]: Figures, time: string, format: QuantityFormat): [Signal, Observation][] {
  if (available === undefined || capacity === undefined) return [];
  const quantity = (value: number) => Quantity.of(Math.trunc(value), format);
  return [[signal, { available: quantity(available), capacity: quantity(capacity), atMs: Date.parse(time) }]];
}

/** What each pod uses, by UID. */
export function podUsages({ pods }: Summary): ReadonlyMap<string, PodUsage> {
  return new Map(pods.map((pod) => [pod.podRef.uid, pod]));
}
