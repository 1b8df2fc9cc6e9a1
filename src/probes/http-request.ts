import type { Container, HTTPGetAction } from '../api/types.ts';
import { authorityOf, type HttpTarget, requestPath, targetOf } from './http-url.ts';
import { resolvePort } from './port.ts';

/** One GET. Header names are in canonical form. */
export interface HttpRequest {
  target: HttpTarget;
  /** What the Host header says instead of the target's own; empty for that. */
  host: string;
  headers: ReadonlyMap<string, readonly string[]>;
}

const KUBERNETES = '1.37';
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Written by the agent itself, or about a body that there is none of. */
const notCopied: ReadonlySet<string> = new Set(['Host', 'User-Agent', 'Content-Length', 'Transfer-Encoding', 'Trailer']);

/**
 * The request of an httpGet probe (`who` is `probe`) or hook (`lifecycle`). Throws ProbeSetupError for a port or host
 * that cannot be asked. Source: vectors http-probe-request.
 */
export function httpGetRequest(action: HTTPGetAction, container: Pick<Container, 'ports'>, podIp: string, who: string): HttpRequest {
  const port = resolvePort(action.port, container);
  const scheme = action.scheme ? action.scheme.toLowerCase() : 'http';
  const target = targetOf(scheme, action.host || podIp, port, action.path ?? '');
  const headers = new Map<string, string[]>();
  for (const { name, value } of action.httpHeaders ?? []) {
    const key = canonicalName(name);
    headers.set(key, [...(headers.get(key) ?? []), value ?? '']);
  }
  if (!headers.has('User-Agent')) headers.set('User-Agent', [`kube-${who}/${KUBERNETES}`]);
  const accept = headers.get('Accept');
  if (accept === undefined) headers.set('Accept', ['*/*']);
  else if (accept[0] === '') headers.delete('Accept');
  return { target, host: headers.get('Host')?.[0] ?? '', headers };
}

/** `content-type` as `Content-Type`; a name that no header may have stays as it is. */
export function canonicalName(name: string): string {
  if (!token.test(name)) return name;
  return name.toLowerCase().replace(/(^|-)([a-z])/g, (_, dash: string, letter: string) => dash + letter.toUpperCase());
}

/**
 * What is sent. Throws an Error for a header or host that must not go over the wire: what is written there came from
 * the author of a pod.
 */
export function requestText(request: HttpRequest): string {
  const { target, headers } = request;
  const path = requestPath(target);
  if (hasControl(path)) throw new Error("net/http: can't write control character in Request.URL");
  const host = request.host || authorityOf(target).replace(/%25[^\]]*\]/, ']');
  if (!/^[\x21-\x7e\x80-\uffff]+$/.test(host)) throw new Error('http: invalid Host header');
  let text = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n`;
  const userAgent = headers.get('User-Agent')?.[0] ?? '';
  if (userAgent !== '') text += line('User-Agent', userAgent);
  let closes = false;
  for (const name of [...headers.keys()].sort()) {
    if (!token.test(name)) throw new Error(`net/http: invalid header field name ${JSON.stringify(name)}`);
    for (const value of headers.get(name) ?? []) {
      const written = line(name, value);
      if (notCopied.has(name)) continue;
      closes ||= name === 'Connection' && /(^|,)\s*close\s*(,|$)/i.test(value);
      text += written;
    }
  }
  return `${text}${closes ? '' : 'Connection: close\r\n'}\r\n`;
}

function line(name: string, value: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be sent
  if (/[\x00-\x08\x0a-\x1f\x7f]/.test(value)) throw new Error(`net/http: invalid header field value for ${JSON.stringify(name)}`);
  return `${name}: ${value.trim()}\r\n`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be sent
const hasControl = (text: string) => /[\x00-\x1f\x7f]/.test(text);
