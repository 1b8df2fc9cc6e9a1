import { isIPv6 } from 'node:net';
import { ProbeSetupError } from './port.ts';

/** Where a request goes. The texts are in the escaped form that goes over the wire. */
export interface HttpTarget {
  /** Lower case; only `http` and `https` can be asked. */
  scheme: string;
  /** Without brackets and port; empty when nobody said. */
  hostname: string;
  /** As written; undefined means the scheme's own. */
  port: number | undefined;
  path: string;
  /** After `?`; undefined without one. */
  query: string | undefined;
  /** After `#`: shown, never sent. */
  fragment: string | undefined;
}

/** Path, query and fragment of a reference that may also carry a scheme and an authority. */
interface Reference extends Pick<HttpTarget, 'path' | 'query' | 'fragment'> {
  scheme: string;
  /** What stood after `//`; undefined without it. */
  authority: string | undefined;
}

/** A text is no reference. */
class BadReference extends Error {}

const hasControl = (text: string) => [...text].some((c) => c < ' ' || c === '\x7f');
const badEscape = /%(?![0-9a-fA-F]{2}).{0,2}/;
/** Characters of a path that may stand as they are, when the path was already escaped. */
const validPath = /^(?:[A-Za-z0-9\-_.~!$&'()*+,;=:@/[\]]|%[0-9a-fA-F]{2})*$/;

/** Splits a reference as Go's parser does, so that what the API accepts is asked for in the same way. Throws on what is none. */
export function parseReference(text: string): Reference {
  const [main, fragment] = cut(text, '#');
  if (fragment !== undefined) checkEscapes(fragment);
  if (hasControl(main)) throw new BadReference('invalid control character in URL');
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*:/.exec(main)?.[0].slice(0, -1) ?? '';
  if (main.startsWith(':')) throw new BadReference('missing protocol scheme');
  let [rest, query] = cut(scheme === '' ? main : main.slice(scheme.length + 1), '?');
  let authority: string | undefined;
  if (!rest.startsWith('/') && scheme === '' && cut(rest, '/')[0].includes(':')) {
    throw new BadReference('first path segment in URL cannot contain colon');
  }
  if (rest.startsWith('//') && (scheme !== '' || !rest.startsWith('///'))) {
    const end = rest.indexOf('/', 2);
    authority = rest.slice(2, end < 0 ? undefined : end);
    rest = end < 0 ? '' : rest.slice(end);
  }
  checkEscapes(rest);
  return { scheme: scheme.toLowerCase(), authority, path: validPath.test(rest) ? rest : escapePath(unescapeBytes(rest)), query, fragment };
}

/** The target of `path` on a host that is already known: scheme and authority in the path count for nothing. Throws ProbeSetupError. */
export function targetOf(scheme: string, host: string, port: number, path: string): HttpTarget {
  checkHost(host);
  let reference: Pick<Reference, 'path' | 'query' | 'fragment'>;
  try {
    reference = parseReference(path);
  } catch {
    // Not a reference at all: then all of it is a path.
    reference = { path: escapePath(Buffer.from(path)), query: undefined, fragment: undefined };
  }
  const { query, fragment } = reference;
  const rooted = reference.path === '' || reference.path.startsWith('/') ? reference.path : `/${reference.path}`;
  return { scheme, hostname: host, port, path: rooted, query, fragment };
}

/** Where a Location header leads from `from`. Throws an Error that says why it leads nowhere. */
export function resolveLocation(from: HttpTarget, location: string): HttpTarget {
  let reference: Reference;
  try {
    reference = parseReference(location);
  } catch (err) {
    const why = err instanceof Error ? err.message : String(err);
    throw new Error(`failed to parse Location header "${location}": parse "${location}": ${why}`);
  }
  const { authority, query, fragment } = reference;
  const scheme = reference.scheme === '' ? from.scheme : reference.scheme;
  if (authority !== undefined) return { scheme, ...splitAuthority(authority, location), path: reference.path, query, fragment };
  const { hostname, port } = from;
  if (reference.path === '') return { scheme, hostname, port, path: from.path, query: query ?? from.query, fragment };
  return { scheme, hostname, port, path: withoutDots(from.path, reference.path), query, fragment };
}

/** The target as users see it. */
export function formatTarget(target: HttpTarget): string {
  const query = target.query === undefined ? '' : `?${target.query}`;
  const fragment = target.fragment === undefined ? '' : `#${target.fragment}`;
  return `${target.scheme}://${authorityOf(target)}${target.path}${query}${fragment}`;
}

/** Host and port as they stand in a URL. */
export function authorityOf({ hostname, port }: Pick<HttpTarget, 'hostname' | 'port'>): string {
  const host = hostname.includes(':') ? `[${hostname.replace('%', '%25')}]` : hostname;
  return port === undefined ? host : `${host}:${port}`;
}

/** What stands in the request line. */
export function requestPath({ path, query }: Pick<HttpTarget, 'path' | 'query'>): string {
  return `${path === '' ? '/' : path}${query === undefined ? '' : `?${query}`}`;
}

function cut(text: string, at: string): [string, string | undefined] {
  const i = text.indexOf(at);
  return i < 0 ? [text, undefined] : [text.slice(0, i), text.slice(i + 1)];
}

function checkEscapes(text: string): void {
  const bad = badEscape.exec(text);
  if (bad !== null) throw new BadReference(`invalid URL escape "${bad[0]}"`);
}

/** The bytes that escapes stand for. */
function unescapeBytes(text: string): Buffer {
  const bytes = Buffer.from(text);
  const out: number[] = [];
  for (let i = 0; i < bytes.length; i++) {
    const isEscape = bytes[i] === 0x25;
    out.push(isEscape ? Number.parseInt(bytes.toString('latin1', i + 1, i + 3), 16) : (bytes[i] ?? 0));
    if (isEscape) i += 2;
  }
  return Buffer.from(out);
}

function escapePath(bytes: Buffer): string {
  let out = '';
  for (const byte of bytes) {
    const char = String.fromCharCode(byte);
    out += /[A-Za-z0-9\-_.~$&+,/:;=@]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return out;
}

/** Only what may stand in the host of a URL; letters beyond ASCII are left to the resolver. */
function checkHost(host: string): void {
  const ok = host.includes(':') ? isIPv6(host) : /^[A-Za-z0-9\-_.~!$&'()*+,;=<>"\u0080-\u{10ffff}]*$/u.test(host);
  if (!ok) throw new ProbeSetupError(`invalid host ${JSON.stringify(host)}`);
}

function splitAuthority(authority: string, location: string): Pick<HttpTarget, 'hostname' | 'port'> {
  const parts = /^(?:[^@]*@)?(?:\[([^\]]*)\]|([^:]*))(?::([0-9]*))?$/.exec(authority);
  const hostname = (parts?.[1] ?? parts?.[2] ?? '').replace('%25', '%');
  if (parts === null || (parts[1] !== undefined && !isIPv6(hostname))) throw new Error(`failed to parse Location header "${location}"`);
  return { hostname, port: parts[3] ? Number(parts[3]) : undefined };
}

/** `path` seen from `base`, without `.` and `..` (RFC 3986, 5.2). */
function withoutDots(base: string, path: string): string {
  const full = path.startsWith('/') ? path : base.slice(0, base.lastIndexOf('/') + 1) + path;
  const out: string[] = [];
  const parts = full.split('/');
  for (const [i, part] of parts.entries()) {
    const isLast = i === parts.length - 1;
    if (part === '..') out.pop();
    else if (part !== '.') out.push(part);
    if (isLast && (part === '.' || part === '..')) out.push('');
    if (out.length === 0) out.push('');
  }
  const joined = out.join('/');
  return joined.startsWith('/') ? joined : `/${joined}`;
}
