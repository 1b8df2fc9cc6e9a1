import type { IncomingHttpHeaders } from 'node:http';
import type { ExecStreams } from './exec-bridge.ts';
import { TUNNEL_PREFIX } from './tunnel.ts';
import { isWebSocket, subprotocols } from './websocket-frames.ts';

/** What query and headers ask of exec, attach and portForward. Contract http-api §6. */

export class BadOptions extends Error {}

/** The streams of exec and attach. Throws BadOptions. */
export function streamsOf(query: URLSearchParams): ExecStreams {
  const on = (name: string) => query.get(name) === '1';
  const tty = on('tty');
  const streams = { stdin: on('input'), stdout: on('output'), stderr: on('error') && !tty, tty };
  if (!streams.stdin && !streams.stdout && !streams.stderr) throw new BadOptions('you must specify at least 1 of stdin, stdout, stderr');
  return streams;
}

/** The ports that a portForward request names; none over SPDY, where each stream names its own. Throws BadOptions. */
export function portsOf(query: URLSearchParams, headers: IncomingHttpHeaders): number[] {
  if (!isWebSocket(headers) || tunnelProtocol(headers) !== undefined) return [];
  const texts = query.getAll('port').flatMap((p) => p.split(','));
  if (texts.length === 0) throw new BadOptions('query parameter "port" is required');
  return texts.map((text) => {
    const port = /^[0-9]{1,5}$/.test(text) ? Number(text) : 0;
    if (port < 1 || port > 65_535) throw new BadOptions(`unable to parse ${JSON.stringify(text)} as a port`);
    return port;
  });
}

export const V5_PROTOCOL = 'v5.channel.k8s.io';

export function wantsTranslation(headers: IncomingHttpHeaders): boolean {
  return isWebSocket(headers) && subprotocols(headers).includes(V5_PROTOCOL);
}

/** The subprotocol by which SPDY is carried in a WebSocket; undefined when the client offers none. */
export function tunnelProtocol(headers: IncomingHttpHeaders): string | undefined {
  if (!isWebSocket(headers)) return undefined;
  return subprotocols(headers).find((p) => p.startsWith(TUNNEL_PREFIX) && p.endsWith('.k8s.io'));
}
