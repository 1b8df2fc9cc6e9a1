/** A text that is no list of CPUs. */
export class CpuSetError extends Error {
  readonly code = 'invalid-cpu-list';
  readonly reason: string;
  constructor(text: string, reason: string) {
    super(`${JSON.stringify(text)} is no list of CPUs: it ${reason}; write it as in 0-3,8`);
    this.name = 'CpuSetError';
    this.reason = reason;
  }
}

/** A range longer than this is a slip of the pen: no machine has so many CPUs. */
const MAX_CPUS = 1 << 16;

/** An immutable set of CPU numbers (or of numbers of cores, sockets, NUMA nodes), kept in ascending order. Source: vectors cpuset. */
export class CpuSet implements Iterable<number> {
  static readonly empty = new CpuSet([]);
  readonly #members: ReadonlySet<number>;

  private constructor(ascending: readonly number[]) {
    this.#members = new Set(ascending);
  }

  static of(numbers: Iterable<number>): CpuSet {
    const set = new CpuSet([...numbers].sort((a, b) => a - b));
    return set.size === 0 ? CpuSet.empty : set;
  }

  /** Reads the kernel's form, `0-3,8`; the empty text is the empty set. Throws CpuSetError. */
  static parse(text: string): CpuSet {
    if (text === '') return CpuSet.empty;
    return CpuSet.of(text.split(',').flatMap((part) => readPart(text, part)));
  }

  get size(): number {
    return this.#members.size;
  }

  get isEmpty(): boolean {
    return this.#members.size === 0;
  }

  has(cpu: number): boolean {
    return this.#members.has(cpu);
  }

  [Symbol.iterator](): Iterator<number> {
    return this.#members[Symbol.iterator]();
  }

  union(...others: readonly CpuSet[]): CpuSet {
    return CpuSet.of([this, ...others].flatMap((set) => [...set]));
  }

  intersection(other: CpuSet): CpuSet {
    return CpuSet.of([...this].filter((cpu) => other.has(cpu)));
  }

  difference(other: CpuSet): CpuSet {
    return CpuSet.of([...this].filter((cpu) => !other.has(cpu)));
  }

  isSubsetOf(other: CpuSet): boolean {
    return [...this].every((cpu) => other.has(cpu));
  }

  equals(other: CpuSet): boolean {
    return this.size === other.size && this.isSubsetOf(other);
  }

  /** The canonical text: ascending, neighbours as ranges. */
  toString(): string {
    const parts: string[] = [];
    let first: number | undefined;
    let last = 0;
    const close = () => {
      if (first !== undefined) parts.push(first === last ? String(first) : `${first}-${last}`);
    };
    for (const cpu of this) {
      if (first === undefined || cpu !== last + 1) {
        close();
        first = cpu;
      }
      last = cpu;
    }
    close();
    return parts.join(',');
  }
}

function readPart(text: string, part: string): number[] {
  const dash = part.indexOf('-');
  const ends = (dash === -1 ? [part] : [part.slice(0, dash), part.slice(dash + 1)]).map((end) => {
    if (!/^[+-]?\d{1,15}$/.test(end))
      throw new CpuSetError(text, `has the part ${JSON.stringify(part)}, which is neither a CPU number nor a range like 0-3`);
    return Number(end);
  });
  const [first = 0, last = first] = ends;
  if (first > last) throw new CpuSetError(text, `has the range ${part}, whose end is before its start`);
  if (last - first >= MAX_CPUS) throw new CpuSetError(text, `has the range ${part}, which is too long`);
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}
