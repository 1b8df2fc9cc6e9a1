/** Writes profiles in pprof's own format: profile.proto of github.com/google/pprof, which `go tool pprof` opens. Pure. */

/** A place in the program. */
export interface Frame {
  functionName: string;
  file: string;
  /** From 1; 0 for none. */
  line: number;
}

export interface ProfileSample {
  /** The innermost frame first. */
  stack: readonly Frame[];
  /** In the order of the profile's `types`. */
  values: readonly number[];
}

export interface Profile {
  types: readonly { type: string; unit: string }[];
  samples: Iterable<ProfileSample>;
  /** Wall-clock milliseconds. */
  timeMs: number;
  durationMs: number;
  periodType: { type: string; unit: string };
  period: number;
  /** What pprof shows unless it is told otherwise. */
  defaultType: string;
}

/** The bytes of a profile, not compressed. */
export function encodeProfile({ types, samples, timeMs, durationMs, periodType, period, defaultType }: Profile): Buffer {
  const strings = new Table<string>((s) => s);
  strings.index('');
  const functions = new Table<Frame>(({ functionName, file }) => `${functionName}\0${file}`);
  const locations = new Table<Frame>(({ functionName, file, line }) => `${functionName}\0${file}\0${line}`);
  const valueType = ({ type, unit }: { type: string; unit: string }) =>
    new Message().number(1, strings.index(type)).number(2, strings.index(unit));
  const out = new Message();
  for (const type of types) out.message(1, valueType(type));
  for (const { stack, values } of samples) {
    const ids = stack.map((frame) => locations.index(frame) + 1);
    out.message(2, new Message().packed(1, ids).packed(2, values));
  }
  locations.all.forEach((frame, i) => {
    const line = new Message().number(1, functions.index(frame) + 1).number(2, frame.line);
    out.message(4, new Message().number(1, i + 1).message(4, line));
  });
  functions.all.forEach(({ functionName, file }, i) => {
    const name = strings.index(functionName);
    out.message(
      5,
      new Message()
        .number(1, i + 1)
        .number(2, name)
        .number(3, name)
        .number(4, strings.index(file)),
    );
  });
  const period11 = valueType(periodType);
  const shown = strings.index(defaultType);
  for (const text of strings.all) out.bytes(6, Buffer.from(text));
  const nanoseconds = (ms: number) => BigInt(Math.round(ms)) * 1_000_000n;
  return out
    .number(9, nanoseconds(timeMs))
    .number(10, nanoseconds(durationMs))
    .message(11, period11)
    .number(12, period)
    .number(14, shown)
    .finish();
}

/** Values by their first appearance. */
class Table<T> {
  readonly all: T[] = [];
  readonly #key: (value: T) => string;
  readonly #known = new Map<string, number>();

  constructor(key: (value: T) => string) {
    this.#key = key;
  }

  index(value: T): number {
    const key = this.#key(value);
    let index = this.#known.get(key);
    if (index === undefined) {
      index = this.all.length;
      this.#known.set(key, index);
      this.all.push(value);
    }
    return index;
  }
}

const VARINT = 0;
const LENGTH_DELIMITED = 2;

/** A protobuf message under construction. */
class Message {
  readonly #parts: Buffer[] = [];

  number(field: number, value: number | bigint): this {
    // The default of a field is not written.
    if (BigInt(value) !== 0n) this.#parts.push(varint(field * 8 + VARINT), varint(value));
    return this;
  }

  bytes(field: number, data: Buffer): this {
    this.#parts.push(varint(field * 8 + LENGTH_DELIMITED), varint(data.length), data);
    return this;
  }

  message(field: number, message: Message): this {
    return this.bytes(field, message.finish());
  }

  packed(field: number, values: readonly number[]): this {
    return this.bytes(field, Buffer.concat(values.map(varint)));
  }

  finish(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

/** Base-128, the lowest seven bits first. */
function varint(value: number | bigint): Buffer {
  const bytes: number[] = [];
  let rest = BigInt(value);
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}
