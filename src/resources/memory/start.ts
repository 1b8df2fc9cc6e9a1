import type { NumaNode } from '../../host/numa.ts';
import { hugepagesName } from '../node-allocatable.ts';
import { isSameGroup } from './hints.ts';
import { MemoryPolicyError, type ReservedByNode } from './reserved.ts';
import { charge, type MemoryState, type MemoryTable, type NumaNodes } from './state.ts';

/** The machine with nothing given out. Huge pages are taken out of the node's memory. */
export function emptyNodes(machine: readonly NumaNode[], reserved: ReservedByNode): NumaNodes {
  return new Map(
    machine.map((node) => {
      const table = (type: string, total: number, less = 0): [string, MemoryTable] => {
        const systemReserved = reserved.get(node.id)?.get(type) ?? 0;
        const allocatable = Math.max(0, total - systemReserved - less);
        return [type, { total, systemReserved, allocatable, reserved: 0, free: allocatable }];
      };
      const hugepages = node.hugepages.map(({ pageSize, total }) => table(hugepagesName(pageSize), total));
      const inPages = node.hugepages.reduce((sum, { total }) => sum + total, 0);
      return [node.id, { assignments: 0, cells: [node.id], memory: new Map([...hugepages, table('memory', node.memory, inPages)]) }];
    }),
  );
}

/**
 * The state to begin with: a new one is filled, one from a checkpoint must fit the machine and what is reserved. Throws MemoryPolicyError that says
 * what does not.
 */
export function startMemoryState(machine: readonly NumaNode[], reserved: ReservedByNode, state: MemoryState): MemoryState {
  if (state.nodes.size === 0) {
    if (state.assignments.size > 0) throw new MemoryPolicyError('the checkpoint has assignments but no machine state');
    return { ...state, nodes: emptyNodes(machine, reserved) };
  }
  let expected = emptyNodes(machine, reserved);
  for (const [uid, containers] of state.assignments) {
    for (const [container, blocks] of containers) {
      for (const block of blocks) {
        const isThere = block.nodes.every((node) => expected.get(node)?.memory.has(block.type) === true);
        if (!isThere) {
          const where = `container ${container} of pod ${uid}`;
          throw new MemoryPolicyError(`${where} has ${block.type} on NUMA nodes ${block.nodes.join(',')}, which this machine has not got`);
        }
        expected = charge(expected, block);
      }
    }
  }
  const fault = difference(state.nodes, expected);
  if (fault !== undefined) {
    throw new MemoryPolicyError(
      `the checkpoint does not fit this machine and what is reserved: ${fault}; memory, huge pages or reservations have changed since it was written`,
    );
  }
  return state;
}

/** The first difference that counts. What is free and reserved is compared for groups of nodes: which of them gave how much follows from the order. */
function difference(had: NumaNodes, expected: NumaNodes): string | undefined {
  if (had.size !== expected.size) return `it has ${had.size} NUMA nodes, the machine ${expected.size}`;
  for (const [id, want] of expected) {
    const got = had.get(id);
    if (got === undefined) return `it lacks NUMA node ${id}`;
    if (got.assignments !== want.assignments) return `NUMA node ${id} has ${got.assignments} assignments, ${want.assignments} are listed`;
    if (!isSameGroup(got.cells, want.cells)) return `NUMA node ${id} is grouped with ${got.cells.join(',')}, not ${want.cells.join(',')}`;
    if (got.memory.size !== want.memory.size) return `NUMA node ${id} has other kinds of memory`;
    for (const [type, table] of want.memory) {
      const own = got.memory.get(type);
      for (const name of ['total', 'systemReserved', 'allocatable'] as const) {
        if (own?.[name] !== table[name]) return `${name} of ${type} on NUMA node ${id} is ${own?.[name]}, not ${table[name]}`;
      }
      for (const name of ['free', 'reserved'] as const) {
        const sum = (nodes: NumaNodes) => want.cells.reduce((total, cell) => total + (nodes.get(cell)?.memory.get(type)?.[name] ?? 0), 0);
        if (sum(had) !== sum(expected)) return `${name} of ${type} around NUMA node ${id} is ${sum(had)}, not ${sum(expected)}`;
      }
    }
  }
  return undefined;
}
