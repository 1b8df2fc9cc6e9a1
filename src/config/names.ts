const labelName = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const dnsLabel = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;

const bytes = (text: string): number => Buffer.byteLength(text);

/** What is wrong with a DNS subdomain (RFC 1123), as sentences without a subject. */
export function dnsSubdomainFaults(text: string): string[] {
  const faults: string[] = [];
  if (bytes(text) > 253) faults.push('must be no more than 253 characters');
  if (!text.split('.').every((part) => dnsLabel.test(part))) {
    faults.push("must consist of lower-case letters, digits, '-' and '.', each part beginning and ending with a letter or digit");
  }
  return faults;
}

/** What is wrong with a label key or taint key: an optional DNS prefix and a name of up to 63 characters. */
export function qualifiedNameFaults(text: string): string[] {
  const parts = text.split('/');
  if (parts.length > 2) return ["must be a name, or a DNS subdomain, '/' and a name"];
  const faults: string[] = [];
  const name = parts.at(-1) ?? '';
  if (parts.length === 2) {
    const prefix = parts[0] ?? '';
    if (prefix === '') faults.push('prefix must not be empty');
    else faults.push(...dnsSubdomainFaults(prefix).map((fault) => `prefix ${fault}`));
  }
  if (name === '') faults.push('name must not be empty');
  else if (bytes(name) > 63) faults.push('name must be no more than 63 bytes');
  if (!labelName.test(name))
    faults.push("name must consist of letters, digits, '-', '_' and '.', beginning and ending with a letter or digit");
  return faults;
}

/** What is wrong with a label value: empty, or up to 63 characters as a name. */
export function labelValueFaults(text: string): string[] {
  const faults: string[] = [];
  if (bytes(text) > 63) faults.push('must be no more than 63 bytes');
  if (text !== '' && !labelName.test(text)) {
    faults.push("must be empty or consist of letters, digits, '-', '_' and '.', beginning and ending with a letter or digit");
  }
  return faults;
}
