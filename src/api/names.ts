/** The forms of names and labels. Each function gives what is wrong, as sentences without a subject; none when all is well. */

const DNS_LABEL = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
const NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const MAX_LABEL = 63;
const MAX_SUBDOMAIN = 253;

const bytesOf = (text: string): number => Buffer.byteLength(text);
const tooLong = (text: string, max: number): string[] => (bytesOf(text) > max ? [`must be no more than ${max} bytes`] : []);
const isSubdomain = (text: string): boolean => text.split('.').every((part) => DNS_LABEL.test(part));

/** A DNS label (RFC 1123), as names of containers and namespaces. */
export function dnsLabelFaults(text: string): string[] {
  const faults = tooLong(text, MAX_LABEL);
  if (DNS_LABEL.test(text)) return faults;
  if (isSubdomain(text)) return [...faults, 'must not contain dots'];
  return [...faults, "must consist of lower-case letters, digits and '-', and begin and end with a letter or digit"];
}

/** A DNS subdomain (RFC 1123), as names of pods and nodes. */
export function dnsSubdomainFaults(text: string): string[] {
  const faults = tooLong(text, MAX_SUBDOMAIN);
  if (isSubdomain(text)) return faults;
  return [...faults, "must consist of lower-case letters, digits, '-' and '.', and each part begin and end with a letter or digit"];
}

/** A key of a label, annotation or taint: a name, or a DNS subdomain, `/` and a name. */
export function qualifiedNameFaults(text: string): string[] {
  const [first = '', second, ...more] = text.split('/');
  if (more.length > 0) return ["must be a name, or a DNS subdomain, '/' and a name"];
  const faults: string[] = [];
  if (second !== undefined) {
    if (first === '') faults.push('prefix must not be empty');
    else faults.push(...dnsSubdomainFaults(first).map((fault) => `prefix ${fault}`));
  }
  const name = second ?? first;
  if (name === '') faults.push('name must not be empty');
  faults.push(...tooLong(name, MAX_LABEL).map((fault) => `name ${fault}`));
  if (!NAME.test(name)) faults.push("name must consist of letters, digits, '-', '_' and '.', and begin and end with a letter or digit");
  return faults;
}

/** The value of a label. */
export function labelValueFaults(text: string): string[] {
  const faults = tooLong(text, MAX_LABEL);
  if (text === '' || NAME.test(text)) return faults;
  return [...faults, "must be empty or consist of letters, digits, '-', '_' and '.', and begin and end with a letter or digit"];
}
