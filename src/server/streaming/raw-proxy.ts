import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { bindLives, type SessionDeps } from './session.ts';
import type { Upgraded } from './upstream.ts';
import { isWebSocket, subprotocols } from './websocket-frames.ts';

/** What the runtime needs to know of the request; credentials are not among it. */
const requestHeaders = new Set(['upgrade', 'user-agent', 'x-stream-protocol-version', 'sec-websocket-key', 'sec-websocket-version']);
/** What the client needs to know of the runtime's answer. */
const responseHeaders = new Set([
  'connection',
  'upgrade',
  'x-stream-protocol-version',
  'x-accepted-stream-protocol-versions',
  'sec-websocket-accept',
  'sec-websocket-protocol',
]);

/** A subprotocol that holds the sender's token. */
const TOKEN_PROTOCOL = 'base64url.bearer.authorization.k8s.io.';

/** The headers of an upgrade request for the runtime: name and value in turn. */
export function headersForRuntime(req: IncomingMessage): string[] {
  const headers = pick(req.rawHeaders, requestHeaders);
  headers.push('Connection', 'Upgrade');
  if (isWebSocket(req.headers)) {
    const offered = subprotocols(req.headers).filter((p) => !p.startsWith(TOKEN_PROTOCOL));
    if (offered.length > 0) headers.push('Sec-WebSocket-Protocol', offered.join(', '));
  }
  return headers;
}

function pick(raw: readonly string[], names: ReadonlySet<string>): string[] {
  const picked: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const [name = '', value = ''] = [raw[i], raw[i + 1]];
    if (names.has(name.toLowerCase())) picked.push(name, value);
  }
  return picked;
}

/** Text of `HTTP/1.1 101` with the given headers (name and value in turn). */
export function switchingProtocols(headers: readonly string[]): string {
  const lines = ['HTTP/1.1 101 Switching Protocols'];
  for (let i = 0; i + 1 < headers.length; i += 2) lines.push(`${headers[i]}: ${headers[i + 1]}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** Passes the bytes of both sides on as they are, until both connections are closed. */
export function proxyBytes(client: Duplex, head: Buffer, upstream: Upgraded, deps: SessionDeps): Promise<void> {
  const { socket, response } = upstream;
  client.write(switchingProtocols(pick(response.rawHeaders, responseHeaders)));
  if (upstream.head.length > 0) client.write(upstream.head);
  if (head.length > 0) socket.write(head);
  const ended = bindLives(client, socket, deps);
  client.pipe(socket);
  socket.pipe(client);
  return ended;
}
