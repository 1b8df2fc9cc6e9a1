import type { Field } from './field.ts';
import { dnsLabel, dnsSubdomain, qualifiedName, unixId, volumeFilePath } from './names.ts';
import { validateLabelSelector } from './selectors.ts';

const KEY_TYPES = ['RSA3072', 'RSA4096', 'ECDSAP256', 'ECDSAP384', 'ECDSAP521', 'ED25519'];
const HOUR = 3600;
const DAY = 24 * HOUR;
const CERTIFICATE_PATHS = ['credentialBundlePath', 'keyPath', 'certificateChainPath'];

/** Trust anchors in a projected volume (KEP-3257). `take` claims a path of the volume. */
export function validateTrustBundle(bundle: Field, take: (path: string) => void): void {
  const name = bundle.get('name');
  const signer = bundle.get('signerName');
  const selector = bundle.get('labelSelector');
  if (name.isSet && signer.isSet) bundle.report('has a name and a signerName');
  else if (name.isSet) {
    name.require();
    name.reportAll(bundleName(name.text));
    if (selector.isSet) selector.report('goes only with a signerName');
  } else if (signer.isSet) {
    signer.require();
    signer.reportAll(signerName(signer.text));
    validateLabelSelector(selector);
  } else bundle.report('needs a name or a signerName');
  const path = bundle.get('path');
  path.require();
  if (bundle.get('user').isSet) bundle.get('user').reportAll(unixId(bundle.get('user').number));
  path.reportAll(volumeFilePath(path.text));
  take(path.text);
}

/** A bundle of a signer begins with the signer's name, slashes as colons. */
function bundleName(name: string): string[] {
  const colon = name.lastIndexOf(':');
  if (colon <= 0) return colon < 0 ? dnsSubdomain(name) : ['begins with a colon'];
  return dnsSubdomain(name.slice(colon + 1));
}

function signerName(name: string): string[] {
  if (name === '') return ['is missing'];
  const [domain = '', path, ...more] = name.split('/');
  if (path === undefined || more.length > 0) return ['is no signer: want domain/name'];
  const problems = Buffer.byteLength(domain) > 253 ? ['has a domain longer than 253 characters'] : [];
  const labels = domain.split('.');
  const badLabel = labels.find((label) => dnsLabel(label).length > 0);
  if (badLabel !== undefined) problems.push(...dnsLabel(badLabel).map((problem) => `has a part of the domain that ${problem}`));
  if (labels.length < 2) problems.push('has a domain of one part');
  const badPart = path.split('.').find((part) => dnsSubdomain(part).length > 0);
  if (badPart !== undefined) problems.push(...dnsSubdomain(badPart).map((problem) => `has a part that ${problem}`));
  return problems;
}

/** A certificate of the pod in a projected volume (KEP-4317). */
export function validatePodCertificate(certificate: Field, take: (path: string) => void): void {
  const signer = certificate.get('signerName');
  signer.reportAll(signerName(signer.text));
  const annotations = certificate.get('userAnnotations');
  for (const [key] of annotations.entries()) {
    const problems = key.includes('/') ? qualifiedName(key.toLowerCase()) : ['has no domain'];
    for (const problem of problems) annotations.report(`the key ${JSON.stringify(key)} ${problem}`);
  }
  if (certificate.get('user').isSet) certificate.get('user').reportAll(unixId(certificate.get('user').number));
  certificate.get('keyType').oneOf(KEY_TYPES);
  const expiration = certificate.get('maxExpirationSeconds');
  const domain = signer.text.split('/')[0] ?? '';
  const longest = domain === 'kubernetes.io' || domain.endsWith('.kubernetes.io') ? DAY : 91 * DAY;
  if (expiration.isSet) expiration.range(HOUR, longest);
  const paths = CERTIFICATE_PATHS.map((key) => certificate.get(key)).filter((path) => path.text !== '');
  for (const path of paths) {
    path.reportAll(volumeFilePath(path.text));
    take(path.text);
  }
  if (paths.length === 0) certificate.report(`needs one of ${CERTIFICATE_PATHS.join(', ')}`);
}
