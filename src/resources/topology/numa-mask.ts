/** A set of NUMA nodes, bit n for node n. Narrower is less: fewer nodes, then lower numbers. */
export type NumaMask = bigint;

export function numaMask(nodes: Iterable<number>): NumaMask {
  let mask = 0n;
  for (const node of nodes) mask |= 1n << BigInt(node);
  return mask;
}

/** Ascending. */
export function numaNodes(mask: NumaMask): number[] {
  const nodes: number[] = [];
  for (let node = 0, rest = mask; rest > 0n; node++, rest >>= 1n) if ((rest & 1n) === 1n) nodes.push(node);
  return nodes;
}

export function countNodes(mask: NumaMask): number {
  let count = 0;
  for (let rest = mask; rest > 0n; rest &= rest - 1n) count++;
  return count;
}

/** Whether `a` names fewer nodes than `b`, or as many and lower ones. */
export function isNarrower(a: NumaMask, b: NumaMask): boolean {
  const [x, y] = [countNodes(a), countNodes(b)];
  return x === y ? a < b : x < y;
}
