import { generateKeyPair, type KeyObject, randomBytes, sign } from 'node:crypto';
import { promisify } from 'node:util';
import * as der from '../../../src/security/der.ts';
import { extension, keyUsage, name, subjectAltNames } from '../../../src/security/x509.ts';

export interface CertificateAndKey {
  certPem: string;
  /** PKCS #8. */
  keyPem: string;
}

export interface Subject {
  commonName: string;
  /** Kubernetes reads them as groups. */
  organizations?: readonly string[];
}

export interface Validity {
  from: number;
  until: number;
}

/** A certificate authority that lives as long as its cluster. */
export interface Authority {
  readonly certPem: string;
  readonly keyPem: string;
  /** A certificate for TLS clients, for a year, or between two moments in wall-clock milliseconds. */
  client(subject: Subject, validity?: Validity): Promise<CertificateAndKey>;
  /** A certificate for TLS servers under the given names and addresses. */
  server(commonName: string, hosts: readonly string[]): Promise<CertificateAndKey>;
}

const ECDSA_SHA256 = '1.2.840.10045.4.3.2';
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';
const HOUR_MS = 3_600_000;

const generate = promisify(generateKeyPair);
const newKey = () => generate('ec', { namedCurve: 'P-256' });
const keyPem = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }).toString();

/** A key pair as PEM: what signs and what verifies the tokens of service accounts. */
export async function newKeyPair(): Promise<{ publicPem: string; privatePem: string }> {
  const { publicKey, privateKey } = await newKey();
  return { publicPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(), privatePem: keyPem(privateKey) };
}

/** Creates a P-256 authority, valid from an hour ago for a year, as is all that it signs. */
export async function newAuthority(commonName: string): Promise<Authority> {
  const { publicKey, privateKey } = await newKey();
  const issuer = name(commonName);
  const extensions = [
    extension('2.5.29.19', true, der.sequence(der.boolean(true))),
    // digitalSignature, keyEncipherment, keyCertSign
    keyUsage(0xa4),
  ];
  const issue = async (subject: Subject, usage: string, more: readonly Buffer[], validity?: Validity): Promise<CertificateAndKey> => {
    const key = await newKey();
    const own = [keyUsage(0xa0), extension('2.5.29.37', false, der.sequence(der.oid(usage))), ...more];
    return {
      certPem: certificate(name(subject.commonName, subject.organizations), issuer, key.publicKey, privateKey, own, validity),
      keyPem: keyPem(key.privateKey),
    };
  };
  return {
    certPem: certificate(issuer, issuer, publicKey, privateKey, extensions),
    keyPem: keyPem(privateKey),
    client: (subject, validity) => issue(subject, CLIENT_AUTH, [], validity),
    server: (commonName, hosts) => issue({ commonName }, SERVER_AUTH, [subjectAltNames(hosts)]),
  };
}

/** A certificate as PEM of names, a public key and extensions (DER), signed with a P-256 key; valid as those of `newAuthority` unless told. */
export function certificate(
  subject: Buffer,
  issuer: Buffer,
  key: KeyObject,
  signer: KeyObject,
  extensions: readonly Buffer[],
  validity?: Validity,
): string {
  const algorithm = der.sequence(der.oid(ECDSA_SHA256));
  const { from, until } = validity ?? { from: Date.now() - HOUR_MS, until: Date.now() + 364 * 24 * HOUR_MS };
  const body = der.sequence(
    der.explicit(0, der.integer(Buffer.from([2]))), // version 3
    der.integer(Buffer.concat([Buffer.from([0x40]), randomBytes(15)])),
    algorithm,
    issuer,
    der.sequence(der.time(from), der.time(until)),
    subject,
    key.export({ type: 'spki', format: 'der' }),
    der.explicit(3, der.sequence(...extensions)),
  );
  return der.pem('CERTIFICATE', der.sequence(body, algorithm, der.bitString(sign('sha256', body, signer))));
}
