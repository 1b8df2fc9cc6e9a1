import { isIP, SocketAddress } from 'node:net';
import * as der from './der.ts';

const COMMON_NAME = '2.5.4.3';
const ORGANIZATION = '2.5.4.10';
const KEY_USAGE = '2.5.29.15';
const SUBJECT_ALT_NAME = '2.5.29.17';

/** A distinguished name: organizations first, as in Go's encoding. */
export function name(commonName: string, organizations: readonly string[] = []): Buffer {
  const part = (id: string, text: string) => der.set(der.sequence(der.oid(id), der.utf8String(text)));
  return der.sequence(...organizations.map((o) => part(ORGANIZATION, o)), part(COMMON_NAME, commonName));
}

/** An extension of a certificate. */
export function extension(id: string, critical: boolean, value: Buffer): Buffer {
  return der.sequence(der.oid(id), ...(critical ? [der.boolean(true)] : []), der.octetString(value));
}

/** What the key may be used for; the bits are those of the first byte. */
export function keyUsage(bits: number): Buffer {
  const unused = 31 - Math.clz32(bits & -bits);
  return extension(KEY_USAGE, true, der.bitString(Buffer.from([bits]), unused));
}

/** The names and addresses that a certificate holds for, each once. */
export function subjectAltNames(names: readonly string[]): Buffer {
  return extension(SUBJECT_ALT_NAME, false, der.sequence(...[...new Set(names)].map(generalName)));
}

function generalName(text: string): Buffer {
  return isIP(text) === 0 ? der.implicit(2, Buffer.from(text)) : der.implicit(7, addressBytes(text));
}

/** The 4 or 16 bytes of an address. */
function addressBytes(text: string): Buffer {
  if (isIP(text) === 4) return Buffer.from(text.split('.').map(Number));
  const { address } = new SocketAddress({ address: text.split('%')[0] ?? text, family: 'ipv6' });
  const mapped = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  const hex = (a: string | undefined, b: string | undefined) => (Number(a) * 256 + Number(b)).toString(16);
  const plain = mapped === null ? address : `${mapped[1]}${hex(mapped[2], mapped[3])}:${hex(mapped[4], mapped[5])}`;
  const [head = '', tail] = plain.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const groups = [...left, ...Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0'), ...right];
  return Buffer.from(groups.map((g) => g.padStart(4, '0')).join(''), 'hex');
}
