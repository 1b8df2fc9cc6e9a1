import { type DBusValue, Marshaller, Unmarshaller, type Variant } from './marshal.ts';

/** What a message is. Source: the D-Bus specification, "Message Format". */
export const MessageType = { call: 1, reply: 2, error: 3, signal: 4 } as const;

const LITTLE = 'l'.charCodeAt(0);
const VERSION = 1;
const FIXED_HEADER = 16;
/** The largest message that the specification allows, in bytes. */
const LARGEST = 128 * 1024 * 1024;

/** Header fields by their code. */
const Field = { path: 1, interface: 2, member: 3, errorName: 4, replySerial: 5, destination: 6, sender: 7, signature: 8 } as const;

export interface MethodCall {
  destination: string;
  path: string;
  interface: string;
  member: string;
  /** Of the arguments together, such as `ss`. */
  signature: string;
  body: readonly DBusValue[];
}

export interface DBusMessage {
  type: number;
  replySerial?: number;
  path?: string;
  interface?: string;
  member?: string;
  errorName?: string;
  body: DBusValue[];
}

/** The bytes of a method call. `serial` is above 0 and unique on the connection. */
export function encodeCall(serial: number, call: MethodCall): Buffer {
  const body = new Marshaller();
  const types = call.signature;
  // A body is marshalled like the members of a structure, from an offset that is aligned to 8.
  if (types !== '') body.write(`(${types})`, call.body);
  const fields: [number, Variant][] = [
    [Field.path, { signature: 'o', value: call.path }],
    [Field.interface, { signature: 's', value: call.interface }],
    [Field.member, { signature: 's', value: call.member }],
    [Field.destination, { signature: 's', value: call.destination }],
  ];
  if (types !== '') fields.push([Field.signature, { signature: 'g', value: types }]);
  const header = new Marshaller();
  header.write('y', LITTLE);
  header.write('y', MessageType.call);
  header.write('y', 0);
  header.write('y', VERSION);
  header.write('u', body.length);
  header.write('u', serial);
  header.write('a(yv)', fields);
  header.align(8);
  return Buffer.concat([header.bytes(), body.bytes()]);
}

/**
 * The first whole message of `data` and how many bytes it takes; undefined while more bytes are needed. Throws on bytes
 * that are no D-Bus message: the connection cannot go on.
 */
export function decodeMessage(data: Buffer): { message: DBusMessage; size: number } | undefined {
  if (data.length < FIXED_HEADER) return undefined;
  const little = data[0] === LITTLE;
  if (!little && data[0] !== 'B'.charCodeAt(0)) throw new Error('the peer does not speak D-Bus');
  const u32 = (at: number) => (little ? data.readUInt32LE(at) : data.readUInt32BE(at));
  const bodyLength = u32(4);
  const fieldsLength = u32(12);
  const bodyAt = Math.ceil((FIXED_HEADER + fieldsLength) / 8) * 8;
  const size = bodyAt + bodyLength;
  if (size > LARGEST) throw new Error(`a D-Bus message of ${size} bytes is over the limit`);
  if (data.length < size) return undefined;
  const whole = data.subarray(0, size);
  const reader = new Unmarshaller(whole, little, 12);
  const fields = new Map<number, DBusValue>();
  for (const field of reader.read('a(yv)') as [number, Variant][]) fields.set(field[0], field[1].value);
  const text = (code: number) => (typeof fields.get(code) === 'string' ? (fields.get(code) as string) : undefined);
  const signature = text(Field.signature) ?? '';
  const body = new Unmarshaller(whole, little, bodyAt).readAll(signature);
  const replySerial = fields.get(Field.replySerial);
  return {
    size,
    message: {
      type: data[1] ?? 0,
      body,
      ...(typeof replySerial === 'number' ? { replySerial } : {}),
      ...optional('path', text(Field.path)),
      ...optional('interface', text(Field.interface)),
      ...optional('member', text(Field.member)),
      ...optional('errorName', text(Field.errorName)),
    },
  };
}

function optional<K extends string>(key: K, value: string | undefined): Partial<Record<K, string>> {
  return value === undefined ? {} : ({ [key]: value } as Record<K, string>);
}
