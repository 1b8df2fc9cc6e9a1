import { alignmentOf, splitSignature } from './signature.ts';

/** A value that carries its type. */
export interface Variant {
  signature: string;
  value: DBusValue;
}

/** A value on the bus: 64-bit integers are bigint, an array of bytes is a Buffer, structures and arrays are arrays. */
export type DBusValue = string | number | bigint | boolean | Buffer | Variant | readonly DBusValue[];

/** Types of a fixed size in bytes, and how a value becomes those bytes. */
const FIXED: Readonly<Record<string, { size: number; fill(buffer: Buffer, value: DBusValue): void }>> = {
  y: { size: 1, fill: (b, v) => b.writeUInt8(number('y', v)) },
  b: { size: 4, fill: (b, v) => b.writeUInt32LE(v === true ? 1 : 0) },
  n: { size: 2, fill: (b, v) => b.writeInt16LE(number('n', v)) },
  q: { size: 2, fill: (b, v) => b.writeUInt16LE(number('q', v)) },
  i: { size: 4, fill: (b, v) => b.writeInt32LE(number('i', v)) },
  u: { size: 4, fill: (b, v) => b.writeUInt32LE(number('u', v)) },
  x: { size: 8, fill: (b, v) => b.writeBigInt64LE(integer('x', v)) },
  t: { size: 8, fill: (b, v) => b.writeBigUInt64LE(integer('t', v)) },
  d: { size: 8, fill: (b, v) => b.writeDoubleLE(number('d', v)) },
};

/** Writes values in little-endian D-Bus form. Source: the D-Bus specification, "Marshaling". */
export class Marshaller {
  #parts: Buffer[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  bytes(): Buffer {
    return Buffer.concat(this.#parts, this.#length);
  }

  align(to: number): void {
    const missing = (to - (this.#length % to)) % to;
    if (missing > 0) this.#push(Buffer.alloc(missing));
  }

  /** Writes one value of a complete type. Throws a TypeError when the value is not of that type. */
  write(type: string, value: DBusValue): void {
    this.align(alignmentOf(type));
    const fixed = FIXED[type];
    if (fixed !== undefined) this.#fixed(fixed.size, (buffer) => fixed.fill(buffer, value));
    else if (type === 's' || type === 'o') this.#string(text(type, value));
    else if (type === 'g') this.#signature(text(type, value));
    else if (type === 'v') this.#variant(value);
    else if (type.startsWith('a')) this.#array(type.slice(1), value);
    else this.#struct(type, value);
  }

  #push(part: Buffer): void {
    this.#parts.push(part);
    this.#length += part.length;
  }

  #fixed(size: number, fill: (buffer: Buffer) => void): void {
    const buffer = Buffer.alloc(size);
    fill(buffer);
    this.#push(buffer);
  }

  #u32(value: number): void {
    this.#fixed(4, (b) => b.writeUInt32LE(value));
  }

  #string(value: string): void {
    if (value.includes('\0')) throw new TypeError('a D-Bus string holds a NUL');
    const encoded = Buffer.from(value, 'utf8');
    this.#u32(encoded.length);
    this.#push(encoded);
    this.#push(Buffer.alloc(1));
  }

  #signature(value: string): void {
    const encoded = Buffer.from(value, 'ascii');
    this.#push(Buffer.from([encoded.length]));
    this.#push(encoded);
    this.#push(Buffer.alloc(1));
  }

  #variant(value: DBusValue): void {
    if (!isVariant(value)) throw mismatch('v', value);
    this.#signature(value.signature);
    this.write(value.signature, value.value);
  }

  #array(element: string, value: DBusValue): void {
    if (!Array.isArray(value) && !Buffer.isBuffer(value)) throw mismatch(`a${element}`, value);
    const length = Buffer.alloc(4);
    this.#push(length);
    this.align(alignmentOf(element));
    const start = this.#length;
    if (Buffer.isBuffer(value)) this.#push(value);
    else for (const item of value) this.write(element, item);
    length.writeUInt32LE(this.#length - start);
  }

  #struct(type: string, value: DBusValue): void {
    const types = splitSignature(type.slice(1, -1));
    if (!Array.isArray(value) || value.length !== types.length) throw mismatch(type, value);
    for (const [i, member] of types.entries()) this.write(member, value[i]);
  }
}

/** Reads values of a message; `littleEndian` is the message's own. Throws a RangeError where the bytes end too early. */
export class Unmarshaller {
  readonly #data: Buffer;
  readonly #littleEndian: boolean;
  #at: number;

  constructor(data: Buffer, littleEndian: boolean, at = 0) {
    this.#data = data;
    this.#littleEndian = littleEndian;
    this.#at = at;
  }

  get at(): number {
    return this.#at;
  }

  align(to: number): void {
    this.#at += (to - (this.#at % to)) % to;
  }

  readAll(signature: string): DBusValue[] {
    return splitSignature(signature).map((type) => this.read(type));
  }

  read(type: string): DBusValue {
    this.align(alignmentOf(type));
    const le = this.#littleEndian;
    switch (type[0]) {
      case 'y':
        return this.#data.readUInt8(this.#take(1));
      case 'b':
        return this.#u32() !== 0;
      case 'n':
      case 'q': {
        const at = this.#take(2);
        return le ? this.#data.readUInt16LE(at) : this.#data.readUInt16BE(at);
      }
      case 'i':
        return this.#u32() | 0;
      case 'u':
        return this.#u32();
      case 'x':
      case 't': {
        const at = this.#take(8);
        const value = le ? this.#data.readBigUInt64LE(at) : this.#data.readBigUInt64BE(at);
        return type === 'x' ? BigInt.asIntN(64, value) : value;
      }
      case 'd': {
        const at = this.#take(8);
        return le ? this.#data.readDoubleLE(at) : this.#data.readDoubleBE(at);
      }
      case 's':
      case 'o':
        return this.#text(this.#u32());
      case 'g':
        return this.#text(this.#data.readUInt8(this.#take(1)));
      case 'v': {
        const signature = this.#text(this.#data.readUInt8(this.#take(1)));
        return { signature, value: this.read(signature) };
      }
      case 'a':
        return this.#array(type.slice(1));
      default:
        return this.readAll(type.slice(1, -1));
    }
  }

  #take(size: number): number {
    const at = this.#at;
    if (at + size > this.#data.length) throw new RangeError('a D-Bus message ends too early');
    this.#at += size;
    return at;
  }

  #u32(): number {
    const at = this.#take(4);
    return this.#littleEndian ? this.#data.readUInt32LE(at) : this.#data.readUInt32BE(at);
  }

  #text(length: number): string {
    const at = this.#take(length + 1);
    return this.#data.toString('utf8', at, at + length);
  }

  #array(element: string): DBusValue {
    const length = this.#u32();
    this.align(alignmentOf(element));
    const end = this.#at + length;
    if (element === 'y') return Buffer.from(this.#data.subarray(this.#take(length), end));
    const items: DBusValue[] = [];
    while (this.#at < end) items.push(this.read(element));
    return items;
  }
}

function isVariant(value: DBusValue): value is Variant {
  return typeof value === 'object' && !Array.isArray(value) && !Buffer.isBuffer(value) && 'signature' in value;
}

function number(type: string, value: DBusValue): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw mismatch(type, value);
  return value;
}

function integer(type: string, value: DBusValue): bigint {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number' && Number.isInteger(value)) return BigInt(value);
  throw mismatch(type, value);
}

function text(type: string, value: DBusValue): string {
  if (typeof value !== 'string') throw mismatch(type, value);
  return value;
}

function mismatch(type: string, value: DBusValue | undefined): TypeError {
  return new TypeError(`a value of type ${Array.isArray(value) ? 'array' : typeof value} is not of the D-Bus type ${type}`);
}
