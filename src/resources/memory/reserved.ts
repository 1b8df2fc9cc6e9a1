import { Quantity } from '../../api/quantity.ts';
import { isMemoryResource } from '../../api/resource-names.ts';
import { resourcesOf } from '../../api/resources.ts';
import type { ResourceList } from '../../api/types.ts';

/** One entry of reservedMemory. */
export interface MemoryReservation {
  numaNode: number;
  limits: ResourceList;
}

/** Bytes by resource that are kept from pods, by NUMA node. */
export type ReservedByNode = ReadonlyMap<number, ReadonlyMap<string, number>>;

/** The static policy cannot work with this configuration on this machine. */
export class MemoryPolicyError extends Error {
  readonly code = 'memory-policy';
  constructor(message: string) {
    super(`memoryManagerPolicy Static: ${message}`);
    this.name = 'MemoryPolicyError';
  }
}

/**
 * Reads reservedMemory. Its sums must be what node allocatable sets aside: `reservation` is systemReserved, kubeReserved and the hard eviction
 * threshold together, by resource. Throws MemoryPolicyError. Source: contract node.md §6.
 */
export function reservedByNode(
  reservations: readonly MemoryReservation[],
  nodes: readonly number[],
  reservation: ReadonlyMap<string, Quantity>,
): ReservedByNode {
  const sums = new Map<string, Quantity>();
  const byNode = new Map<number, Map<string, number>>(nodes.map((node) => [node, new Map()]));
  for (const { numaNode, limits } of reservations) {
    const own = byNode.get(numaNode);
    if (own === undefined) {
      throw new MemoryPolicyError(`reservedMemory names NUMA node ${numaNode}; this machine has ${nodes.join(', ') || 'none'}`);
    }
    for (const [name, quantity] of resourcesOf(limits)) {
      sums.set(name, sums.get(name)?.add(quantity) ?? quantity);
      own.set(name, Number(quantity.value()));
    }
  }
  const names = new Set([...sums.keys(), ...[...reservation.keys()].filter(isMemoryResource)]);
  for (const name of names) {
    const [given, wanted] = [sums.get(name) ?? Quantity.zero, reservation.get(name) ?? Quantity.zero];
    if (given.equals(wanted)) continue;
    throw new MemoryPolicyError(
      `reservedMemory sets aside ${given} of ${name}, but systemReserved, kubeReserved and evictionHard together ${wanted}; make them equal`,
    );
  }
  if ([...byNode.values()].every((own) => (own.get('memory') ?? 0) === 0)) {
    throw new MemoryPolicyError('reservedMemory must set some memory aside for the system');
  }
  return byNode;
}
