import { createPublicKey, generateKeyPairSync, type KeyObject, verify } from 'node:crypto';
import * as der from '../../src/security/der.ts';
import { extension, keyUsage, name } from '../../src/security/x509.ts';
import { certificate } from '../e2e/cluster/pki.ts';

/** What stands in a certificate request. */
export interface ReadRequest {
  /** DER of the subject's name. */
  subject: Buffer;
  publicKey: KeyObject;
  /** DER of the attributes, in which the extensions are. */
  attributes: Buffer;
}

interface Tlv {
  tag: number;
  whole: Buffer;
  content: Buffer;
}

/** The values inside a constructed one. */
function members(content: Buffer): Tlv[] {
  const found: Tlv[] = [];
  for (let at = 0; at < content.length; ) {
    let length = content[at + 1] ?? 0;
    let start = at + 2;
    if (length >= 0x80) {
      const size = length & 0x7f;
      length = content.readUIntBE(start, size);
      start += size;
    }
    found.push({ tag: content[at] ?? 0, whole: content.subarray(at, start + length), content: content.subarray(start, start + length) });
    at = start + length;
  }
  return found;
}

/** Reads a request (PEM) and checks its signature, as a signer must. */
export function readRequest(pem: string): ReadRequest {
  const bytes = Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64');
  const [outer] = members(bytes);
  const [info, , signature] = members(outer?.content ?? Buffer.alloc(0));
  const [, subject, key, attributes] = members(info?.content ?? Buffer.alloc(0));
  if (info === undefined || signature === undefined || subject === undefined || key === undefined || attributes === undefined)
    throw new Error('not a certificate request');
  const publicKey = createPublicKey({ key: key.whole, format: 'der', type: 'spki' });
  if (!verify('sha256', info.whole, publicKey, signature.content.subarray(1))) throw new Error('the signature of the request is wrong');
  return { subject: subject.whole, publicKey, attributes: attributes.whole };
}

/** An authority of a test: signs whatever it is shown. */
export class TestSigner {
  readonly #key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

  /** The certificate for a request, valid between two moments in wall-clock milliseconds. */
  sign(requestPem: string, from: number, until: number): string {
    const { subject, publicKey } = readRequest(requestPem);
    const extensions = [extension('2.5.29.19', true, der.sequence()), keyUsage(0x80)];
    return certificate(subject, name('test signer'), publicKey, this.#key, extensions, { from, until });
  }
}
