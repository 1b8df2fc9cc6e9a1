import type { X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';

/** What a request shows of its sender. Never logged. */
export interface Credentials {
  certificate?: {
    commonName: string;
    organizations: readonly string[];
    /** Signed by the client CA, made for clients, and within its time. */
    valid: boolean;
  };
  token?: string;
}

/** A subprotocol by which browsers hand over a token (they cannot set headers). */
const WEBSOCKET_TOKEN_PREFIX = 'base64url.bearer.authorization.k8s.io.';

/** Reads the credentials of a request. `checkedAgainstCurrentCa` is false for a handshake made before the CA changed. */
export function credentialsOf(req: IncomingMessage, now: number, checkedAgainstCurrentCa: (socket: object) => boolean): Credentials {
  const credentials: Credentials = {};
  const token = bearerToken(req);
  if (token !== undefined) credentials.token = token;
  const socket = req.socket;
  const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
  if (certificate !== undefined && socket instanceof TLSSocket) {
    const valid = socket.authorized && checkedAgainstCurrentCa(socket) && inTime(certificate, now);
    credentials.certificate = { ...subjectOf(certificate), valid };
  }
  return credentials;
}

function inTime({ validFromDate, validToDate }: X509Certificate, now: number): boolean {
  return validFromDate.getTime() <= now && now <= validToDate.getTime();
}

/** CN and every O of the subject. */
function subjectOf(certificate: X509Certificate): { commonName: string; organizations: string[] } {
  const subject: Record<string, unknown> = certificate.toLegacyObject().subject as unknown as Record<string, unknown>;
  const all = (value: unknown) => (Array.isArray(value) ? value : [value]).filter((v) => typeof v === 'string');
  return { commonName: all(subject['CN']).at(-1) ?? '', organizations: all(subject['O']) };
}

function bearerToken(req: IncomingMessage): string | undefined {
  const [scheme, token] = (req.headers.authorization ?? '').trim().split(/ +/, 2);
  if (scheme?.toLowerCase() === 'bearer' && token !== undefined && token !== '') return token;
  for (const protocol of (req.headers['sec-websocket-protocol'] ?? '').split(',')) {
    const name = protocol.trim();
    if (!name.startsWith(WEBSOCKET_TOKEN_PREFIX)) continue;
    const text = Buffer.from(name.slice(WEBSOCKET_TOKEN_PREFIX.length), 'base64url').toString();
    if (text !== '') return text;
  }
  return undefined;
}
