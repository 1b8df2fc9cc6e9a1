const Label = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
const NamePart = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const MaxLabel = 63;
const MaxSubdomain = 253;

/** True for a DNS label as RFC 1123 has it, in lower case. */
export function isDnsLabel(text: string): boolean {
  return text.length <= MaxLabel && Label.test(text);
}

/** True for a DNS name of such labels. */
export function isDnsSubdomain(text: string): boolean {
  // Labels of a subdomain have no length limit of their own in Kubernetes' rule.
  return text.length <= MaxSubdomain && text.split('.').every((label) => Label.test(label));
}

/** Why `key` is no qualified name (`[prefix/]name`), undefined when it is one. */
export function qualifiedNameFault(key: string): string | undefined {
  const parts = key.split('/');
  const [first, second] = parts;
  if (first === undefined || parts.length > 2) return 'it may hold one slash at most';
  const [prefix, name] = second === undefined ? [undefined, first] : [first, second];
  if (prefix === '') return 'the part before the slash is empty';
  if (prefix !== undefined && !isDnsSubdomain(prefix)) return 'the part before the slash is not a DNS name in lower case';
  if (name === '') return 'the name is empty';
  if (name.length > MaxLabel) return `the name is longer than ${MaxLabel} characters`;
  return NamePart.test(name) ? undefined : "the name must be letters, digits, '-', '_' or '.', with a letter or digit at both ends";
}
