import { generateKeyPair, type KeyObject, randomBytes, sign } from 'node:crypto';
import { promisify } from 'node:util';
import * as der from './der.ts';
import { extension, keyUsage, name, subjectAltNames } from './x509.ts';

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
      subjectAltNames([host, ...alternatives]),
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
