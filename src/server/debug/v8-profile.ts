import type { HeapProfiler, Profiler, Runtime } from 'node:inspector';
import type { Frame, Profile, ProfileSample } from './pprof-encoder.ts';

/** V8's profiles as pprof has them. Pure. */

const nanosecondsPerMicrosecond = 1_000;

/** Where the CPU time went. `periodUs`: between two samples. */
export function cpuProfile(profile: Profiler.Profile, periodUs: number, timeMs: number): Profile {
  const stacks = stacksOf(profile.nodes);
  const totals = new Map<number, { count: number; us: number }>();
  (profile.samples ?? []).forEach((id, i) => {
    const total = totals.get(id) ?? { count: 0, us: 0 };
    total.count++;
    total.us += Math.max(0, profile.timeDeltas?.[i] ?? periodUs);
    totals.set(id, total);
  });
  const samples = [...totals].flatMap(([id, { count, us }]): ProfileSample[] => {
    const stack = stacks.get(id) ?? [];
    // Time in which nothing ran is not CPU time.
    if (stack.length === 0 || stack[0]?.functionName === '(idle)' || stack[0]?.functionName === '(program)') return [];
    return [{ stack, values: [count, us * nanosecondsPerMicrosecond] }];
  });
  return {
    types: [
      { type: 'samples', unit: 'count' },
      { type: 'cpu', unit: 'nanoseconds' },
    ],
    samples,
    timeMs,
    durationMs: (profile.endTime - profile.startTime) / 1000,
    periodType: { type: 'cpu', unit: 'nanoseconds' },
    period: periodUs * nanosecondsPerMicrosecond,
    defaultType: 'cpu',
  };
}

/** V8 sends more than Node's types say. */
type HeapNode = Omit<HeapProfiler.SamplingHeapProfileNode, 'children'> & { id: number; children: HeapNode[] };
export interface HeapSamples {
  head: HeapProfiler.SamplingHeapProfileNode;
  samples?: readonly { size: number; nodeId: number }[];
}

/** Who allocated what is on the heap, by V8's samples. `intervalBytes`: between two of them. */
export function heapProfile(profile: HeapSamples, intervalBytes: number, timeMs: number, kind: 'heap' | 'allocs'): Profile {
  const samples: ProfileSample[] = [];
  const byNode = Map.groupBy(profile.samples ?? [], (s) => s.nodeId);
  const open: { node: HeapNode; above: readonly Frame[] }[] = [{ node: profile.head as HeapNode, above: [] }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { node, above } = next;
    const stack = isRoot(node.callFrame) ? above : [frameOf(node.callFrame), ...above];
    if (node.selfSize > 0 && stack.length > 0) samples.push({ stack, values: [byNode.get(node.id)?.length ?? 1, node.selfSize] });
    for (const child of node.children) open.push({ node: child, above: stack });
  }
  const [objects, space] = kind === 'heap' ? ['inuse_objects', 'inuse_space'] : ['alloc_objects', 'alloc_space'];
  return {
    types: [
      { type: objects, unit: 'count' },
      { type: space, unit: 'bytes' },
    ],
    samples,
    timeMs,
    durationMs: 0,
    periodType: { type: 'space', unit: 'bytes' },
    period: intervalBytes,
    defaultType: space,
  };
}

/** Of every node, its stack with the innermost frame first. */
function stacksOf(nodes: readonly Profiler.ProfileNode[]): Map<number, readonly Frame[]> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const stacks = new Map<number, readonly Frame[]>();
  const [root] = nodes;
  const open: { id: number; above: readonly Frame[] }[] = root === undefined ? [] : [{ id: root.id, above: [] }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const node = byId.get(next.id);
    if (node === undefined) continue;
    const stack = isRoot(node.callFrame) ? next.above : [frameOf(node.callFrame), ...next.above];
    stacks.set(node.id, stack);
    for (const id of node.children ?? []) open.push({ id, above: stack });
  }
  return stacks;
}

const isRoot = ({ functionName }: Runtime.CallFrame) => functionName === '(root)';

function frameOf({ functionName, url, lineNumber }: Runtime.CallFrame): Frame {
  return { functionName: functionName === '' ? '(anonymous)' : functionName, file: url.replace(/^file:\/\//, ''), line: lineNumber + 1 };
}
