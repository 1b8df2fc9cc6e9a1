import type { Assignments } from '../assignments.ts';

/** Memory of one kind on one NUMA node, in bytes. */
export interface MemoryTable {
  total: number;
  systemReserved: number;
  /** Total less what is reserved, and for plain memory less the huge pages. */
  allocatable: number;
  /** Given to containers. */
  reserved: number;
  free: number;
}

export interface NumaNodeState {
  /** How many blocks lie on the node, each kind of memory by itself. */
  assignments: number;
  /** By resource name: `memory`, `hugepages-2Mi`, … */
  memory: ReadonlyMap<string, MemoryTable>;
  /** The nodes that blocks of this node span, itself among them. A node is used either alone or with one group of others. */
  cells: readonly number[];
}

/** An amount of memory of one kind, on one NUMA node or across some. */
export interface MemoryBlock {
  nodes: readonly number[];
  type: string;
  /** Bytes. */
  size: number;
}

export type NumaNodes = ReadonlyMap<number, NumaNodeState>;

/** Who has which memory. Immutable. */
export interface MemoryState {
  nodes: NumaNodes;
  assignments: Assignments<readonly MemoryBlock[]>;
}

export const emptyMemoryState: MemoryState = { nodes: new Map(), assignments: new Map() };

/** Counts a block in on its nodes; `size` bytes are taken from each in turn as far as it has them. */
export function charge(nodes: NumaNodes, block: MemoryBlock, size = block.size): NumaNodes {
  const after = new Map(nodes);
  let left = size;
  for (const id of block.nodes) {
    const node = after.get(id);
    if (node === undefined) continue;
    const table = node.memory.get(block.type);
    const amount = Math.min(left, Math.max(0, table?.free ?? 0));
    left -= amount;
    after.set(id, { assignments: node.assignments + 1, cells: block.nodes, memory: moved(node, block.type, amount) });
  }
  return after;
}

/** Counts a block out again. */
export function discharge(nodes: NumaNodes, block: MemoryBlock): NumaNodes {
  const after = new Map(nodes);
  let left = block.size;
  for (const id of block.nodes) {
    const node = after.get(id);
    if (node === undefined) continue;
    const amount = Math.min(left, node.memory.get(block.type)?.reserved ?? 0);
    left -= amount;
    const assignments = Math.max(0, node.assignments - 1);
    after.set(id, { assignments, cells: assignments === 0 ? [id] : node.cells, memory: moved(node, block.type, -amount) });
  }
  return after;
}

/** The node's tables with `amount` bytes moved from free to reserved. */
function moved(node: NumaNodeState, type: string, amount: number): ReadonlyMap<string, MemoryTable> {
  const table = node.memory.get(type);
  if (table === undefined || amount === 0) return node.memory;
  return new Map(node.memory).set(type, { ...table, free: table.free - amount, reserved: table.reserved + amount });
}
