/**
 * Kubernetes' grammars of names. Each function gives what is wrong with a text, nothing when it is fine; lengths are in
 * bytes of UTF-8, as Go counts them. All expressions are linear.
 */

const DNS_LABEL = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
const DNS_LABEL_UNDERSCORE = /^[a-z0-9_](?:[-_a-z0-9]*[a-z0-9_])?$/;
const QUALIFIED = /^(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

const bytes = (text: string): number => Buffer.byteLength(text);
const tooLong = (text: string, max: number): string[] => (bytes(text) > max ? [`is longer than ${max} characters`] : []);

function isSubdomain(text: string, label = DNS_LABEL): boolean {
  return text.split('.').every((part) => label.test(part));
}

/** RFC 1123 label: containers, volumes, namespaces, host names. */
export function dnsLabel(text: string): string[] {
  if (DNS_LABEL.test(text)) return tooLong(text, 63);
  const why = isSubdomain(text)
    ? 'contains dots'
    : 'is no DNS label: lower-case letters, digits and dashes, a letter or digit at both ends';
  return [...tooLong(text, 63), why];
}

/** RFC 1123 subdomain: pods, nodes, secrets and most objects. */
export function dnsSubdomain(text: string): string[] {
  if (isSubdomain(text)) return tooLong(text, 253);
  return [...tooLong(text, 253), 'is no DNS name: lower-case letters, digits, dashes and dots, a letter or digit at both ends'];
}

/** A DNS search domain. */
export function searchDomain(text: string): string[] {
  if (isSubdomain(text, DNS_LABEL_UNDERSCORE)) return tooLong(text, 253);
  return [...tooLong(text, 253), 'is no DNS name'];
}

/** Keys of labels and annotations, resources, gates: `name` or `prefix/name`. */
export function qualifiedName(text: string): string[] {
  const parts = text.split('/');
  if (parts.length > 2) return ['has more than one slash: want name or prefix/name'];
  const [prefix, name] = parts.length === 2 ? parts : [undefined, parts[0]];
  const problems: string[] = [];
  if (prefix === '') problems.push('has an empty prefix');
  else if (prefix !== undefined) problems.push(...dnsSubdomain(prefix).map((problem) => `has a prefix that ${problem}`));
  if (name === undefined || name === '') problems.push('has an empty name');
  else if (bytes(name) > 63) problems.push('has a name longer than 63 characters');
  if (!QUALIFIED.test(name ?? ''))
    problems.push('has a name that is not made of letters, digits, -, _ and ., with a letter or digit at both ends');
  return problems;
}

export function labelValue(text: string): string[] {
  const problems = tooLong(text, 63);
  if (text !== '' && !QUALIFIED.test(text))
    problems.push('is no label value: letters, digits, -, _ and ., with a letter or digit at both ends');
  return problems;
}

/** IANA service name. */
export function portName(text: string): string[] {
  const problems = tooLong(text, 15);
  if (!/^[-a-z0-9]+$/.test(text)) problems.push('contains other than lower-case letters, digits and dashes');
  if (!/[a-z]/.test(text)) problems.push('contains no letter');
  if (text.includes('--')) problems.push('contains two dashes in a row');
  if (text.startsWith('-') || text.endsWith('-')) problems.push('begins or ends with a dash');
  return problems;
}

export function portNumber(port: number): string[] {
  return port >= 1 && port <= 65_535 ? [] : ['is not from 1 to 65535'];
}

/** Printable ASCII without the equals sign. */
export function envName(text: string): string[] {
  return /^[ -<>-~]*$/.test(text) ? [] : ['is no name of a variable: printable ASCII without ='];
}

/** Key of a ConfigMap or Secret. */
export function configKey(text: string): string[] {
  const problems = tooLong(text, 253);
  if (!/^[-._a-zA-Z0-9]+$/.test(text)) problems.push('is no key: letters, digits, -, _ and .');
  if (text === '.') problems.push('is a dot');
  else if (text === '..') problems.push('is two dots');
  else if (text.startsWith('..')) problems.push('begins with two dots');
  return problems;
}

export function headerName(text: string): string[] {
  return /^[-A-Za-z0-9]+$/.test(text) ? [] : ['is no name of an HTTP header'];
}

/** User and group ids. */
export function unixId(id: number): string[] {
  return id >= 0 && id <= 2 ** 31 - 1 ? [] : ['is not from 0 to 2147483647'];
}

/** Path elements `..` lead out of a volume or a directory of profiles. */
export function hasBackstep(path: string): boolean {
  return path.split('/').includes('..');
}

/** A path below some directory. */
export function descendingPath(path: string): string[] {
  const problems = path.startsWith('/') ? ['is no relative path'] : [];
  if (hasBackstep(path)) problems.push("contains '..'");
  return problems;
}

/** A path below a volume that the kubelet writes: names with two leading dots are its own. */
export function volumeFilePath(path: string): string[] {
  const problems = descendingPath(path);
  if (path.startsWith('..') && !path.startsWith('../')) problems.push("begins with '..'");
  return problems;
}
