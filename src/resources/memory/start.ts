import { hugepageBytes } from '../../host/machine.ts';
import type { NumaNode } from '../../host/numa.ts';
import { hugepagesName } from '../node-allocatable.ts';
import { MemoryPolicyError, type ReservedByNode } from './reserved.ts';
import type { MemoryBlock, MemoryState, MemoryTable, NumaNodes } from './state.ts';

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
      return [
        node.id,
        { assignments: 0, cells: [node.id], memory: new Map([...hugepages, table('memory', node.memory, hugepageBytes(node))]) },
      ];
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
  const empty = emptyNodes(machine, reserved);
  const blocks: MemoryBlock[] = [];
  for (const [uid, containers] of state.assignments) {
    for (const [container, own] of containers) {
      for (const block of own) {
        if (!block.nodes.every((node) => empty.get(node)?.memory.has(block.type) === true)) {
          const where = `container ${container} of pod ${uid}`;
          throw new MemoryPolicyError(`${where} has ${block.type} on NUMA nodes ${block.nodes.join(',')}, which this machine has not got`);
        }
        blocks.push(block);
      }
    }
  }
  const fault = machineFault(state.nodes, empty) ?? sumFault(state.nodes, blocks);
  if (fault !== undefined) {
    throw new MemoryPolicyError(
      `the checkpoint does not fit this machine and what is reserved: ${fault}; memory, huge pages or reservations have changed since it was written`,
    );
  }
  return state;
}

/** What is different of the machine itself. */
function machineFault(had: NumaNodes, machine: NumaNodes): string | undefined {
  if (had.size !== machine.size) return `it has ${had.size} NUMA nodes, the machine ${machine.size}`;
  for (const [id, want] of machine) {
    const got = had.get(id);
    if (got === undefined) return `it lacks NUMA node ${id}`;
    if (got.memory.size !== want.memory.size) return `NUMA node ${id} has other kinds of memory`;
    for (const [type, table] of want.memory) {
      for (const name of ['total', 'systemReserved', 'allocatable'] as const) {
        const own = got.memory.get(type)?.[name];
        if (own !== table[name]) return `${name} of ${type} on NUMA node ${id} is ${own}, not ${table[name]}`;
      }
    }
  }
  return undefined;
}

/** Where the nodes' sums are not what the containers have. Which node of a group gave how much follows from the order, and is not looked at. */
function sumFault(nodes: NumaNodes, blocks: readonly MemoryBlock[]): string | undefined {
  const reserved = new Map<string, number>();
  for (const [id, node] of nodes) {
    const own = blocks.filter((block) => block.nodes.includes(id));
    if (node.assignments !== own.length) return `NUMA node ${id} has ${node.assignments} assignments, ${own.length} are listed`;
    if (!node.cells.includes(id)) return `NUMA node ${id} is not in its own group ${node.cells.join(',')}`;
    for (const [type, table] of node.memory) {
      if (table.free + table.reserved !== table.allocatable) return `${type} on NUMA node ${id} does not add up`;
      reserved.set(type, (reserved.get(type) ?? 0) + table.reserved);
    }
  }
  for (const [type, sum] of reserved) {
    const given = blocks.reduce((total, block) => total + (block.type === type ? block.size : 0), 0);
    if (sum !== given) return `${sum} bytes of ${type} are reserved, containers have ${given}`;
  }
  return undefined;
}
