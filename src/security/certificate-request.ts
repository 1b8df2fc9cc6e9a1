import { createHash, generateKeyPair, type KeyObject, sign } from 'node:crypto';
import { isIP } from 'node:net';
import { promisify } from 'node:util';
import * as der from './der.ts';
import { name, subjectAltNames } from './x509.ts';

/** What a certificate is asked for. */
export interface RequestTemplate {
  commonName: string;
  organizations: readonly string[];
  /** DNS names, then addresses. */
  alternatives: readonly string[];
}

/** PKCS #9 extensionRequest. */
const EXTENSION_REQUEST = '1.2.840.113549.1.9.14';

const newKey = promisify(generateKeyPair);

/** A new key on P-256, as client-go makes them. */
export async function newPrivateKey(): Promise<KeyObject> {
  return (await newKey('ec', { namedCurve: 'P-256' })).privateKey;
}

/** The key in the form that the real kubelet stores (SEC 1, PEM). */
export function privateKeyPem(key: KeyObject): string {
  return key.export({ type: 'sec1', format: 'pem' }).toString();
}

/** A certificate signing request (PKCS #10, PEM) for that key. Source: RFC 2986. */
export function certificateRequest(template: RequestTemplate, key: KeyObject, publicKey: KeyObject): string {
  const { commonName, organizations, alternatives } = template;
  const attributes =
    alternatives.length === 0
      ? der.implicitSet(0)
      : der.implicitSet(0, der.sequence(der.oid(EXTENSION_REQUEST), der.set(der.sequence(subjectAltNames(alternatives)))));
  const subject = name(commonName, organizations);
  return der.pem('CERTIFICATE REQUEST', signedRequest({ privateKey: key, publicKey }, subject, attributes));
}

export interface KeyPair {
  privateKey: KeyObject;
  publicKey: KeyObject;
}

/** A PKCS #10 request (RFC 2986), which proves that the private half of the key is here: DER. `attributes` as `[0]`. */
export function signedRequest({ privateKey, publicKey }: KeyPair, subject: Buffer, attributes: Buffer): Buffer {
  const info = der.sequence(der.integer(Buffer.from([0])), subject, publicKey.export({ type: 'spki', format: 'der' }), attributes);
  const { hash, id } = signatureAlgorithm(privateKey);
  return der.sequence(info, id, der.bitString(sign(hash, info, privateKey)));
}

/** By the key's curve or kind: hash of node:crypto, and object identifier (RFC 8017, RFC 5758, RFC 8410). */
function signatureAlgorithm({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): { hash: string | null; id: Buffer } {
  if (asymmetricKeyType === 'rsa') return { hash: 'sha256', id: der.sequence(der.oid('1.2.840.113549.1.1.11'), der.nothing()) };
  if (asymmetricKeyType === 'ed25519') return { hash: null, id: der.sequence(der.oid('1.3.101.112')) };
  const curve = asymmetricKeyDetails?.namedCurve;
  if (curve === 'secp384r1') return { hash: 'sha384', id: der.sequence(der.oid('1.2.840.10045.4.3.3')) };
  if (curve === 'secp521r1') return { hash: 'sha512', id: der.sequence(der.oid('1.2.840.10045.4.3.4')) };
  return { hash: 'sha256', id: der.sequence(der.oid('1.2.840.10045.4.3.2')) };
}

/** The name under which a node asks for its first certificate: the same for the same key, so that a restart asks once. */
export function bootstrapRequestName(template: RequestTemplate, publicKey: KeyObject): string {
  const hash = createHash('sha256');
  hash.update(publicKey.export({ type: 'spki', format: 'der' }));
  for (const text of [template.commonName, ...template.organizations]) hash.update(`\0${text}`);
  // Lower-case hexadecimal: a name of an API object.
  return `node-csr-${hash.digest('hex')}`;
}

/** What the kubelet is to the API server. */
export function clientTemplate(nodeName: string): RequestTemplate {
  return { commonName: `system:node:${nodeName}`, organizations: ['system:nodes'], alternatives: [] };
}

/** What the kubelet serves as: undefined as long as it has no address, for which nobody would sign. */
export function servingTemplate(nodeName: string, names: readonly string[], addresses: readonly string[]): RequestTemplate | undefined {
  const ips = [...new Set(addresses.filter((a) => isIP(a) !== 0))].sort();
  if (ips.length === 0) return undefined;
  const dns = [...new Set(names.filter((n) => n !== '' && isIP(n) === 0))].sort();
  return { ...clientTemplate(nodeName), alternatives: [...dns, ...ips] };
}
