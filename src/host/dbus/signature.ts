/**
 * D-Bus type signatures, as far as systemd's interfaces need them: the basic types, arrays, structures, variants and
 * dictionary entries. Source: the D-Bus specification, "Type System".
 */

/** Alignment in bytes of a value by the first character of its signature. */
const ALIGNMENT: Readonly<Record<string, number>> = {
  y: 1,
  b: 4,
  n: 2,
  q: 2,
  i: 4,
  u: 4,
  x: 8,
  t: 8,
  d: 8,
  s: 4,
  o: 4,
  g: 1,
  a: 4,
  v: 1,
  '(': 8,
  '{': 8,
};

/** Bytes to which a value of that type is aligned. Throws on an unknown type. */
export function alignmentOf(signature: string): number {
  const found = ALIGNMENT[signature[0] ?? ''];
  if (found === undefined) throw new Error(`D-Bus type ${JSON.stringify(signature)} is not known`);
  return found;
}

/** The complete types of a signature, in order: `sa(sv)` is `s` and `a(sv)`. Throws on a signature that is not well formed. */
export function splitSignature(signature: string): string[] {
  const types: string[] = [];
  for (let at = 0; at < signature.length; ) {
    const end = endOfType(signature, at);
    types.push(signature.slice(at, end));
    at = end;
  }
  return types;
}

function endOfType(signature: string, at: number): number {
  const first = signature[at];
  if (first === undefined) throw new Error(`D-Bus signature ${JSON.stringify(signature)} ends too early`);
  if (first === 'a') return endOfType(signature, at + 1);
  if (first === '(' || first === '{') {
    const close = first === '(' ? ')' : '}';
    let next = at + 1;
    while (signature[next] !== close) next = endOfType(signature, next);
    return next + 1;
  }
  alignmentOf(first);
  return at + 1;
}
