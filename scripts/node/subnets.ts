import { readFile } from 'node:fs/promises';

/** An IPv4 range: `address` and `mask` as unsigned 32-bit numbers. */
export interface Range {
  address: number;
  mask: number;
}

/** The /16 networks tried in turn; in each there is room for 64 runs of 1,022 addresses. */
const BASES = ['10.213.0.0', '10.231.0.0', '10.177.0.0', '172.30.0.0', '192.168.0.0'];

export function parseAddress(text: string): number {
  return text.split('.').reduce((n, part) => n * 256 + Number(part), 0) >>> 0;
}

export function formatAddress(n: number): string {
  return [24, 16, 8, 0].map((shift) => (n >>> shift) & 255).join('.');
}

/** Ranges with a route of their own, from the text of /proc/net/route (hexadecimal in the host's, here little-endian, byte order). */
export function parseRoutes(text: string, ignoreInterfaces: (name: string) => boolean): Range[] {
  const swap = (hex: string) => Buffer.from(hex, 'hex').readUInt32LE(0);
  const ranges: Range[] = [];
  for (const line of text.split('\n').slice(1)) {
    const f = line.split('\t');
    const [name, destination, mask] = [f[0], f[1], f[7]];
    if (name === undefined || destination === undefined || mask === undefined || ignoreInterfaces(name)) continue;
    if (swap(mask) !== 0) ranges.push({ address: swap(destination), mask: swap(mask) });
  }
  return ranges;
}

export function overlaps(a: Range, b: Range): boolean {
  const mask = (a.mask & b.mask) >>> 0;
  return (a.address & mask) >>> 0 === (b.address & mask) >>> 0;
}

/** The /22 subnet of run `index` (0 to 63) in the first base network that no route of the host touches. */
export function chooseSubnet(index: number, routes: readonly Range[]): string {
  for (const base of BASES) {
    const range = { address: parseAddress(base), mask: 0xffff0000 };
    if (!routes.some((r) => overlaps(range, r))) return `${formatAddress(range.address + index * 1024)}/22`;
  }
  throw new Error(`no free network for pods: all of ${BASES.join(', ')} have routes on this host`);
}

/** As `chooseSubnet`, with the routes the host has now but for those of our own bridges. */
export async function freeSubnet(index: number): Promise<string> {
  return chooseSubnet(
    index,
    parseRoutes(await readFile('/proc/net/route', 'utf8'), (name) => /^kts[0-9]+$/.test(name)),
  );
}
