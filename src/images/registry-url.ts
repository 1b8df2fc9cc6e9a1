/** A registry, or a pattern of registries, with a path: what docker configurations and image names are compared by. */
export interface RegistryUrl {
  /** With the port. */
  host: string;
  /** '' or from its slash on. */
  path: string;
}

export class RegistryUrlError extends Error {
  override readonly name = 'RegistryUrlError';
}

const fault = (text: string, why: string) => new RegistryUrlError(`${JSON.stringify(text.slice(0, 200))} is no registry: ${why}`);

/**
 * Reads a URL without its scheme, as `*.example.com:5000/team`; query, fragment and user do not count. Throws
 * RegistryUrlError. Source: vectors credential-match.
 */
export function parseSchemelessUrl(text: string): RegistryUrl {
  for (const char of text) if (char <= '\x1f' || char === '\x7f') throw fault(text, 'it holds a control character');
  const [beforeFragment = ''] = text.split('#', 1);
  const [plain = ''] = beforeFragment.split('?', 1);
  const slash = plain.indexOf('/');
  const authority = slash < 0 ? plain : plain.slice(0, slash);
  const host = unescaped(text, authority.slice(authority.lastIndexOf('@') + 1));
  checkHost(text, host);
  return { host, path: slash < 0 ? '' : unescaped(text, plain.slice(slash)) };
}

function unescaped(text: string, part: string): string {
  if (!part.includes('%')) return part;
  const bad = /%(?![0-9A-Fa-f]{2})/.exec(part);
  if (bad !== null) throw fault(text, `invalid escape ${JSON.stringify(part.slice(bad.index, bad.index + 3))}`);
  const bytes = Buffer.from(part)
    .toString('latin1')
    .replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}

function checkHost(text: string, host: string): void {
  // Of ASCII, what may stand in a host of a URL (RFC 3986), and what Go lets through besides.
  const bad = /[^A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"\u0080-\uffff]/.exec(host);
  if (bad !== null) throw fault(text, `invalid character ${JSON.stringify(bad[0])} in its host`);
  let end = host;
  if (host.startsWith('[')) {
    const close = host.lastIndexOf(']');
    if (close < 0) throw fault(text, "']' is missing in its host");
    end = host.slice(close + 1);
    if (end !== '' && !/^:\d*$/.test(end)) throw fault(text, `invalid port ${JSON.stringify(end)}`);
    return;
  }
  const colon = end.lastIndexOf(':');
  if (colon >= 0 && !/^:\d*$/.test(end.slice(colon))) throw fault(text, `invalid port ${JSON.stringify(end.slice(colon))}`);
}

/** The host's parts between its dots, without brackets and port; all of a host with more colons than one is one text. */
export function splitHost({ host }: RegistryUrl): { parts: string[]; port: string } {
  const match = /^(?:\[([^\]]*)\]|([^:[\]]*)):([^:]*)$/.exec(host);
  if (match === null) return { parts: host.split('.'), port: '' };
  return { parts: (match[1] ?? match[2] ?? '').split('.'), port: match[3] ?? '' };
}

/**
 * True when `pattern` stands for `target`: the same number of host parts, each matching as a shell pattern, the same
 * port, and the target's path begins with the pattern's.
 */
export function registryMatches(pattern: RegistryUrl, target: RegistryUrl): boolean {
  const wanted = splitHost(pattern);
  const given = splitHost(target);
  if (wanted.port !== given.port || wanted.parts.length !== given.parts.length || !target.path.startsWith(pattern.path)) return false;
  return wanted.parts.every((part, i) => matchesShellPattern(part, given.parts[i] ?? ''));
}

/** `*` is any text. A host holds none of the other signs of shell patterns that could match. */
function matchesShellPattern(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  if (!text.startsWith(first)) return false;
  const last = rest.pop();
  if (last === undefined) return text === first;
  let at = first.length;
  for (const piece of rest) {
    const found = text.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return text.length - at >= last.length && text.endsWith(last);
}
