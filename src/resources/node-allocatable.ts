import { Quantity, QuantityError } from '../api/quantity.ts';
import { type Resources, resourcesOf } from '../api/resources.ts';
import type { ResourceList } from '../api/types.ts';

/** The part of the machine that pods can be given. Sizes in bytes. */
export interface MachineCapacity {
  /** Thousandths. */
  cpu: number;
  memory: number;
  hugepages: readonly { pageSize: number; total: number }[];
  /** System-wide limit on tasks; not advertised, but the pods' cgroup is held to it. */
  maxPids?: number;
}

/** What is set aside for the system, the agent and eviction. */
export interface Reservations {
  systemReserved: ResourceList;
  kubeReserved: ResourceList;
  /** Hard thresholds by signal, as configured: `memory.available: 100Mi`, `nodefs.available: 10%`. */
  evictionHard: Readonly<Record<string, string>>;
}

/** The reserved amounts do not fit on the machine. */
export class NodeAllocatableError extends Error {
  readonly code = 'reservation-exceeds-capacity';
  readonly resources: readonly string[];
  constructor(faults: readonly { name: string; text: string }[]) {
    super(`systemReserved, kubeReserved and evictionHard together exceed the node: ${faults.map((f) => f.text).join('; ')}`);
    this.name = 'NodeAllocatableError';
    this.resources = faults.map((f) => f.name);
  }
}

const Pids = 'pid';
const ThresholdResource: Readonly<Record<string, string>> = { 'memory.available': 'memory', 'nodefs.available': 'ephemeral-storage' };

/** The node's capacity. `ephemeralStorage` is the size of the root directory's file system in bytes, where it is known. */
export function nodeCapacity(
  machine: MachineCapacity,
  more: { ephemeralStorage?: number; maxPods: number; podsPerCore?: number },
): Resources {
  const { maxPods, podsPerCore = 0, ephemeralStorage } = more;
  const pods = podsPerCore > 0 ? Math.min(Math.floor(machine.cpu / 1000) * podsPerCore, maxPods) : maxPods;
  return new Map([
    ['cpu', Quantity.ofMilli(machine.cpu)],
    ['memory', Quantity.of(machine.memory, 'BinarySI')],
    ...(ephemeralStorage === undefined ? [] : [['ephemeral-storage', Quantity.of(ephemeralStorage)] as const]),
    ...machine.hugepages.map(({ pageSize, total }) => [hugepagesName(pageSize), Quantity.of(total, 'BinarySI')] as const),
    ['pods', Quantity.of(pods)],
  ]);
}

/**
 * What the scheduler may place: capacity less all reservations, never below zero; memory also less the huge pages,
 * which are taken out of it. Throws NodeAllocatableError where the reservations alone exceed the capacity.
 * Source: contract node.md §1.
 */
export function nodeAllocatable(capacity: Resources, reservations: Reservations): Resources {
  const reserved = totalReservation(capacity, reservations);
  const faults = [...reserved].flatMap(([name, amount]) => {
    const has = capacity.get(name);
    return has === undefined || amount.cmp(has) <= 0 ? [] : [{ name, text: `${name}: ${amount} reserved of ${has}` }];
  });
  if (faults.length > 0) throw new NodeAllocatableError(faults);
  const allocatable = less(capacity, reserved);
  const hugepages = [...allocatable].filter(([name]) => name.startsWith('hugepages-')).map(([, quantity]) => quantity);
  const memory = allocatable.get('memory');
  if (memory !== undefined) allocatable.set('memory', floorZero(hugepages.reduce((left, q) => left.sub(q), memory)));
  return allocatable;
}

/** Limits of the cgroup above all pods. */
export interface PodsLimits {
  /** Thousandths. */
  cpu: number;
  /** Bytes. */
  memory: number;
  pids?: number;
  /** Page size in bytes to limit in bytes. */
  hugepages: Map<number, number>;
}

/**
 * What the pods' cgroup is held to: the whole machine, less the system's and the agent's share when node allocatable
 * is enforced on pods. Eviction thresholds are not deducted: eviction must come before the limit. Source: contract node.md §4.
 */
export function podsLimits(machine: MachineCapacity, reservations: Reservations, enforce: readonly string[]): PodsLimits {
  const { maxPids } = machine;
  let resources: Resources = new Map([
    ...nodeCapacity(machine, { maxPods: 0 }),
    ...(maxPids === undefined ? [] : [[Pids, Quantity.of(maxPids)] as const]),
  ]);
  if (enforce.includes('pods')) {
    resources = less(resources, sumOf([resourcesOf(reservations.systemReserved), resourcesOf(reservations.kubeReserved)]));
  }
  const value = (name: string) => Number(resources.get(name)?.value() ?? 0n);
  return {
    cpu: Number(resources.get('cpu')?.milliValue() ?? 0n),
    memory: value('memory'),
    ...(maxPids === undefined ? {} : { pids: value(Pids) }),
    hugepages: new Map(machine.hugepages.map(({ pageSize }) => [pageSize, value(hugepagesName(pageSize))])),
  };
}

/** `hugepages-2Mi` for a page size in bytes. */
export function hugepagesName(pageSize: number): string {
  return `hugepages-${Quantity.of(pageSize, 'BinarySI')}`;
}

/** By resource, all that is kept from pods: the system's share, the agent's and the hard eviction thresholds. */
export function totalReservation(capacity: Resources, { systemReserved, kubeReserved, evictionHard }: Reservations): Resources {
  return sumOf([resourcesOf(systemReserved), resourcesOf(kubeReserved), evictionReservation(capacity, evictionHard)]);
}

/** What the hard thresholds keep from pods, by resource. */
function evictionReservation(capacity: Resources, evictionHard: Readonly<Record<string, string>>): Resources {
  const reserved: Resources = new Map();
  for (const [signal, text] of Object.entries(evictionHard)) {
    const name = Object.hasOwn(ThresholdResource, signal) ? ThresholdResource[signal] : undefined;
    if (name === undefined) continue;
    const amount = thresholdAmount(text, capacity.get(name) ?? Quantity.zero);
    if (amount !== undefined) reserved.set(name, amount);
  }
  return reserved;
}

/** Undefined for the percentages that switch a threshold off. */
function thresholdAmount(text: string, capacity: Quantity): Quantity | undefined {
  if (!text.endsWith('%')) return Quantity.parse(text);
  const percent = Number(text.slice(0, -1));
  if (text === '%' || Number.isNaN(percent)) throw new QuantityError(text, 'it is neither a quantity nor a percentage');
  if (percent === 0 || percent === 100) return undefined;
  // Single precision, as the real kubelet holds it.
  return Quantity.of(BigInt(Math.trunc(Number(capacity.value()) * Math.fround(Math.fround(percent) / 100))), 'BinarySI');
}

function sumOf(lists: readonly Resources[]): Resources {
  const sum: Resources = new Map();
  for (const list of lists) for (const [name, quantity] of list) sum.set(name, sum.get(name)?.add(quantity) ?? quantity);
  return sum;
}

function less(from: Resources, amounts: Resources): Resources {
  return new Map(
    [...from].map(([name, quantity]) => {
      const amount = amounts.get(name);
      return [name, amount === undefined ? quantity : floorZero(quantity.sub(amount))];
    }),
  );
}

function floorZero(quantity: Quantity): Quantity {
  return quantity.sign() < 0 ? Quantity.of(0, quantity.format) : quantity;
}
