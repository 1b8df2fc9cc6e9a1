/** Reads the text of the kernel's statistics files of control groups. Pure; what cannot be read is undefined. */

/** Share of time in which some, or all, tasks waited, in percent over 10, 60 and 300 s; `total` in microseconds. */
export interface PressureLine {
  total: number;
  avg10: number;
  avg60: number;
  avg300: number;
}
export interface Pressure {
  some: PressureLine;
  full: PressureLine;
}

/** Counts of one block device. `operations` by the kernel's word: `Read`, `Write`, `Sync`, `Async`, `Discard`, `Total`, `Count`. */
export interface DeviceCounts {
  major: number;
  minor: number;
  operations: Record<string, number>;
}

const zero: PressureLine = { total: 0, avg10: 0, avg60: 0, avg300: 0 };

/** The numbers of a file with `name value` on each line. */
export function flatKeyed(text: string | undefined): ReadonlyMap<string, number> {
  const values = new Map<string, number>();
  for (const line of (text ?? '').split('\n')) {
    const [name, value] = line.split(' ');
    if (name !== undefined && value !== undefined && /^\d+$/.test(value)) values.set(name, Number(value));
  }
  return values;
}

/** A file of one number; `max` and negative numbers (no limit) are Infinity. */
export function singleNumber(text: string | undefined): number | undefined {
  const word = text?.trim();
  if (word === undefined || word === '') return undefined;
  if (word === 'max' || /^-\d+$/.test(word)) return Number.POSITIVE_INFINITY;
  return /^\d+$/.test(word) ? Number(word) : undefined;
}

/** A `*.pressure` file. A kernel without the `full` line of the CPU reports none there. */
export function pressure(text: string | undefined): Pressure | undefined {
  if (text === undefined) return undefined;
  const line = (kind: string): PressureLine | undefined => {
    const found = new RegExp(`^${kind} avg10=([\\d.]+) avg60=([\\d.]+) avg300=([\\d.]+) total=(\\d+)$`, 'm').exec(text);
    if (found === null) return undefined;
    const [, avg10, avg60, avg300, total] = found.map(Number);
    return { total: total ?? 0, avg10: avg10 ?? 0, avg60: avg60 ?? 0, avg300: avg300 ?? 0 };
  };
  const some = line('some');
  return some === undefined ? undefined : { some, full: line('full') ?? zero };
}

/** A v1 blkio file: `8:0 Read 12` on each line, a bare `Total` last. Undefined when the file is missing. */
export function blkioCounts(text: string | undefined): DeviceCounts[] | undefined {
  if (text === undefined) return undefined;
  const devices = new Map<string, DeviceCounts>();
  for (const line of text.split('\n')) {
    const found = /^(\d+):(\d+) ([A-Za-z]+) (\d+)$/.exec(line);
    if (found === null) continue;
    const [, major = '', minor = '', operation = '', value] = found;
    const device = devices.get(`${major}:${minor}`) ?? { major: Number(major), minor: Number(minor), operations: {} };
    device.operations[operation] = Number(value);
    devices.set(`${major}:${minor}`, device);
  }
  return [...devices.values()];
}

/** What the v2 file io.stat (`8:0 rbytes=1 wbytes=2 rios=3 …` on each line) holds, in the tables of v1. */
export interface IoStat {
  serviceBytes: DeviceCounts[];
  serviced: DeviceCounts[];
  costUsage: DeviceCounts[];
  costWait: DeviceCounts[];
  costIndebt: DeviceCounts[];
  costIndelay: DeviceCounts[];
}

const ioKeys: ReadonlyMap<string, readonly [keyof IoStat, string]> = new Map([
  ['rbytes', ['serviceBytes', 'Read']],
  ['wbytes', ['serviceBytes', 'Write']],
  ['rios', ['serviced', 'Read']],
  ['wios', ['serviced', 'Write']],
  ['cost.usage', ['costUsage', 'Count']],
  ['cost.wait', ['costWait', 'Count']],
  ['cost.indebt', ['costIndebt', 'Count']],
  ['cost.indelay', ['costIndelay', 'Count']],
]);

export function ioStat(text: string | undefined): IoStat {
  const stat: IoStat = { serviceBytes: [], serviced: [], costUsage: [], costWait: [], costIndebt: [], costIndelay: [] };
  for (const line of (text ?? '').split('\n')) {
    const [name = '', ...pairs] = line.split(' ');
    const found = /^(\d+):(\d+)$/.exec(name);
    if (found === null) continue;
    const [major, minor] = [Number(found[1]), Number(found[2])];
    for (const pair of pairs) {
      const [key = '', value = ''] = pair.split('=');
      const target = ioKeys.get(key);
      if (target === undefined || !/^\d+$/.test(value)) continue;
      const table = stat[target[0]];
      const last = table.at(-1);
      const device = last !== undefined && last.major === major && last.minor === minor ? last : { major, minor, operations: {} };
      if (device !== last) table.push(device);
      device.operations[target[1]] = Number(value);
    }
  }
  return stat;
}
