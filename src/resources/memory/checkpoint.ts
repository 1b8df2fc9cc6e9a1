import { compareGoStrings, goJsonString } from '../../compat/go-text.ts';
import { dumpChecksum, dumpMap, dumpStruct } from '../checkpoint/checksum.ts';
import { envelopeText, readEnvelope } from '../checkpoint/envelope.ts';
import { CheckpointContentError } from '../checkpoint/errors.ts';
import { byPodAndContainer, countOf, type Fields, fieldsOf, own, textOf } from '../checkpoint/json.ts';
import type { MemoryBlock, MemoryState, MemoryTable, NumaNodeState } from './state.ts';

const Tables = ['total', 'systemReserved', 'allocatable', 'reserved', 'free'] as const;
const Pointer = '<*>';
type Assignments = MemoryState['assignments'];

/** The text of memory_manager_state. Source: contract node.md §6. */
export function writeMemoryCheckpoint(policyName: string, state: MemoryState): string {
  const entries = state.assignments.size === 0 ? '' : `,"entries":${objectJson(state.assignments, (own) => objectJson(own, blocksJson))}`;
  const fields = `"policyName":${goJsonString(policyName)},"machineState":${objectJson(byText(state.nodes), nodeJson)}${entries}`;
  return envelopeText(fields, legacyChecksum(policyName, state));
}

/** Go writes the numbers of nodes as texts, and in their order. */
const byText = (nodes: MemoryState['nodes']) => [...nodes].map(([id, node]) => [String(id), node] as const);

function objectJson<T>(entries: Iterable<readonly [string, T]>, value: (item: T) => string): string {
  const sorted = [...entries].sort(([a], [b]) => compareGoStrings(a, b));
  return `{${sorted.map(([key, item]) => `${goJsonString(key)}:${value(item)}`).join(',')}}`;
}

function nodeJson({ assignments, memory, cells }: NumaNodeState): string {
  const table = (own: MemoryTable) => `{${Tables.map((name) => `"${name}":${own[name]}`).join(',')}}`;
  return `{"numberOfAssignments":${assignments},"memoryMap":${objectJson(memory, table)},"cells":[${cells.join(',')}]}`;
}

function blocksJson(blocks: readonly MemoryBlock[]): string {
  const one = ({ nodes, type, size }: MemoryBlock) => `{"numaAffinity":[${nodes.join(',')}],"type":${goJsonString(type)},"size":${size}}`;
  return `[${blocks.map(one).join(',')}]`;
}

/** Reads the file of any version. Throws CheckpointContentError for what is no such file, or damaged. */
export function readMemoryCheckpoint(text: string): { policyName: string; state: MemoryState } {
  return readEnvelope(text, contentOf, ({ policyName, state }, fields) =>
    [undefined, podBlocks(fields)].map((pods) => legacyChecksum(policyName, state, pods)),
  );
}

function contentOf(fields: Fields): { policyName: string; state: MemoryState } {
  const nodes = new Map(
    Object.entries(fieldsOf(own(fields, 'machineState') ?? {}, 'its field machineState')).map(([id, node]) => {
      if (!/^\d{1,6}$/.test(id)) throw new CheckpointContentError(`its NUMA node ${JSON.stringify(id)} is no number`);
      return [Number(id), nodeOf(fieldsOf(node, `its NUMA node ${id}`))] as const;
    }),
  );
  const assignments: Assignments = byPodAndContainer(fields, 'entries', blocksOfJson);
  return { policyName: textOf(fields, 'policyName'), state: { nodes, assignments } };
}

function nodeOf(fields: Fields): NumaNodeState {
  const memory = Object.entries(fieldsOf(own(fields, 'memoryMap') ?? {}, 'its field memoryMap')).map(([type, table]) => {
    const amounts = fieldsOf(table, `its memory ${type}`);
    const [total, systemReserved, allocatable, reserved, free] = Tables.map((name) => countOf(amounts, name));
    return [
      type,
      { total: total ?? 0, systemReserved: systemReserved ?? 0, allocatable: allocatable ?? 0, reserved: reserved ?? 0, free: free ?? 0 },
    ] as const;
  });
  return { assignments: countOf(fields, 'numberOfAssignments'), memory: new Map(memory), cells: numbersOf(own(fields, 'cells'), 'cells') };
}

function blocksOfJson(value: unknown, where: string): MemoryBlock[] {
  if (!Array.isArray(value)) throw new CheckpointContentError(`the memory of ${where} is not a list`);
  return value.map((block: unknown) => {
    const fields = fieldsOf(block, `a block of ${where}`);
    return { nodes: numbersOf(own(fields, 'numaAffinity'), 'numaAffinity'), type: textOf(fields, 'type'), size: countOf(fields, 'size') };
  });
}

function numbersOf(value: unknown, name: string): number[] {
  const list: unknown[] = Array.isArray(value) ? value : [];
  return list.map((item) => {
    if (typeof item === 'number' && Number.isInteger(item) && item >= 0) return item;
    throw new CheckpointContentError(`its field ${name} holds what is no number`);
  });
}

/** The pods' own blocks of the second version. */
function podBlocks(fields: Fields): Map<string, MemoryBlock[]> {
  const pods = Object.entries(fieldsOf(own(fields, 'podEntries') ?? {}, 'its field podEntries'));
  return new Map(
    pods.map(([uid, entry]) => [uid, blocksOfJson(own(fieldsOf(entry, `its pod ${uid}`), 'memoryBlocks') ?? [], `pod ${uid}`)]),
  );
}

function legacyChecksum(policyName: string, { nodes, assignments }: MemoryState, pods?: Map<string, MemoryBlock[]>): number {
  const sorted = [...nodes].sort(([a], [b]) => a - b);
  // Nodes and tables are behind pointers, which the dump marks.
  const table = (own: MemoryTable) =>
    Pointer +
    dumpStruct([
      ['TotalMemSize', 'uint64', String(own.total)],
      ['SystemReserved', 'uint64', String(own.systemReserved)],
      ['Allocatable', 'uint64', String(own.allocatable)],
      ['Reserved', 'uint64', String(own.reserved)],
      ['Free', 'uint64', String(own.free)],
    ]);
  const node = (own: NumaNodeState) =>
    Pointer +
    dumpStruct([
      ['NumberOfAssignments', 'int', String(own.assignments)],
      ['MemoryMap', 'map[v1.ResourceName]*state.MemoryTable', dumpMap(own.memory, table)],
      ['Cells', '[]int', `[${own.cells.join(' ')}]`],
    ]);
  const blocks = (own: readonly MemoryBlock[]) =>
    `[${own
      .map((b) =>
        dumpStruct([
          ['NUMAAffinity', '[]int', `[${b.nodes.join(' ')}]`],
          ['Type', 'v1.ResourceName', b.type],
          ['Size', 'uint64', String(b.size)],
        ]),
      )
      .join(' ')}]`;
  const podEntries =
    pods === undefined
      ? []
      : [
          [
            'PodEntries',
            'state.PodMemoryAssignments',
            dumpMap(pods, (own) => dumpStruct([['MemoryBlocks', '[]state.Block', blocks(own)]])),
          ] as const,
        ];
  return dumpChecksum(
    `(*state.MemoryManagerCheckpoint)${dumpStruct([
      ['PolicyName', 'string', policyName],
      ['MachineState', 'state.NUMANodeMap', `map[${sorted.map(([id, own]) => `${id}:${node(own)}`).join(' ')}]`],
      ['Entries', 'state.ContainerMemoryAssignments', dumpMap(assignments, (containers) => dumpMap(containers, blocks))],
      ...podEntries,
      ['Checksum', 'checksum.Checksum', '0'],
    ])}`,
  );
}
