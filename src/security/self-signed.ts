import { generateKeyPair, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIP, SocketAddress } from 'node:net';
import { promisify } from 'node:util';
import * as der from './der.ts';

export interface SelfSignedInput {
  /** Host name or address of the node. */
  host: string;
  /** Further addresses and names that the certificate holds for. */
  alternatives?: readonly string[];
  /** Wall-clock milliseconds. */
  now: number;
}

export interface CertificateAndKey {
  /** The certificate, then the one that signed it. */
  certPem: string;
  /** PKCS #8. */
  keyPem: string;
}

const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;
const SHA256_RSA = '1.2.840.113549.1.1.11';
const COMMON_NAME = '2.5.4.3';
const KEY_USAGE = '2.5.29.15';
const SUBJECT_ALT_NAME = '2.5.29.17';
const BASIC_CONSTRAINTS = '2.5.29.19';
const EXTENDED_KEY_USAGE = '2.5.29.37';
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';
const DIGITAL_SIGNATURE = 0x80;
const KEY_ENCIPHERMENT = 0x20;
const CERT_SIGN = 0x04;

const newKey = promisify(generateKeyPair);

/**
 * A serving certificate for a year, valid from an hour ago (clocks differ), signed by an authority that lives only in
 * this call: `{host}@{unix}` from `{host}-ca@{unix}`, RSA 2048. Contract: node.md, serving certificates.
 */
export async function selfSigned({ host, alternatives = [], now }: SelfSignedInput): Promise<CertificateAndKey> {
  const seconds = Math.floor(now / 1000);
  const [authority, server] = await Promise.all([newKey('rsa', { modulusLength: 2048 }), newKey('rsa', { modulusLength: 2048 })]);
  const issuer = name(`${host}-ca@${seconds}`);
  const common = { issuer, signer: authority.privateKey, from: now - HOUR_MS, until: now - HOUR_MS + YEAR_MS };
  const authorityCert = certificate({
    ...common,
    subject: issuer,
    key: authority.publicKey,
    extensions: [
      keyUsage(DIGITAL_SIGNATURE | KEY_ENCIPHERMENT | CERT_SIGN),
      extension(BASIC_CONSTRAINTS, true, der.sequence(der.boolean(true))),
    ],
  });
  const cert = certificate({
    ...common,
    subject: name(`${host}@${seconds}`),
    key: server.publicKey,
    extensions: [
      keyUsage(DIGITAL_SIGNATURE | KEY_ENCIPHERMENT),
      extension(EXTENDED_KEY_USAGE, false, der.sequence(der.oid(SERVER_AUTH))),
      extension(BASIC_CONSTRAINTS, true, der.sequence()),
      extension(SUBJECT_ALT_NAME, false, der.sequence(...new Set([host, ...alternatives].map(generalName)))),
    ],
  });
  return {
    certPem: der.pem('CERTIFICATE', cert) + der.pem('CERTIFICATE', authorityCert),
    keyPem: server.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

interface Certificate {
  subject: Buffer;
  issuer: Buffer;
  key: KeyObject;
  signer: KeyObject;
  from: number;
  until: number;
  extensions: readonly Buffer[];
}

function certificate({ subject, issuer, key, signer, from, until, extensions }: Certificate): Buffer {
  const algorithm = der.sequence(der.oid(SHA256_RSA), der.nothing());
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  const body = der.sequence(
    der.explicit(0, der.integer(Buffer.from([2]))), // version 3
    der.integer(serial),
    algorithm,
    issuer,
    der.sequence(der.time(from), der.time(until)),
    subject,
    key.export({ type: 'spki', format: 'der' }),
    der.explicit(3, der.sequence(...extensions)),
  );
  return der.sequence(body, algorithm, der.bitString(sign('sha256', body, signer)));
}

function name(commonName: string): Buffer {
  return der.sequence(der.set(der.sequence(der.oid(COMMON_NAME), der.utf8String(commonName))));
}

function extension(id: string, critical: boolean, value: Buffer): Buffer {
  return der.sequence(der.oid(id), ...(critical ? [der.boolean(true)] : []), der.octetString(value));
}

function keyUsage(bits: number): Buffer {
  const unused = 31 - Math.clz32(bits & -bits);
  return extension(KEY_USAGE, true, der.bitString(Buffer.from([bits]), unused));
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
