import type { Duplex } from 'node:stream';
import { bindLives, type SessionDeps, writeThrough } from './session.ts';
import type { Upgraded } from './upstream.ts';
import { WebSocketServer } from './websocket-server.ts';

export const TUNNEL_PREFIX = 'SPDY/3.1+';

/**
 * Carries a SPDY connection to the runtime in the binary messages of a WebSocket: the bytes are not looked at. Resolves
 * once both connections are closed. The handshakes are done.
 */
export function tunnel(client: Duplex, head: Buffer, upstream: Upgraded, deps: SessionDeps): Promise<void> {
  const runtime = upstream.socket;
  const websocket = new WebSocketServer(client, {
    message: (data) => {
      if (data.length > 0) writeThrough(runtime, client, [data]);
    },
    closed: () => {
      if (!runtime.writableEnded) runtime.end();
    },
  });
  const toClient = (data: Buffer) => writeThrough(client, runtime, websocket.binary(data));
  const ended = bindLives(client, runtime, deps);
  if (upstream.head.length > 0) toClient(upstream.head);
  if (head.length > 0) websocket.feed(head);
  client.on('data', (chunk: Buffer) => websocket.feed(chunk));
  runtime.on('data', toClient);
  client.once('end', () => {
    if (!runtime.writableEnded) runtime.end();
  });
  runtime.once('end', () => websocket.close());
  return ended;
}
