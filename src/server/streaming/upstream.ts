import { type IncomingMessage, type RequestOptions, request } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../host/clock.ts';

/** The runtime took the upgrade: its answer, the connection, and what came with the answer. */
export interface Upgraded {
  response: IncomingMessage;
  socket: Socket;
  head: Buffer;
}

/** The runtime did not take the upgrade. `status` is what the client is to be told. */
export class UpgradeRefused extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.name = 'UpgradeRefused';
    this.status = status;
  }
}

export interface UpstreamRequest {
  /** The URL that the runtime gave for this session. */
  url: string;
  method: 'GET' | 'POST';
  /** Name and value in turn, as in `rawHeaders`. */
  headers: readonly string[];
  clock: Clock;
  signal: AbortSignal;
}

const CONNECT_TIMEOUT_MS = 30_000;
/** Of a refusal's text; it goes to the client. */
const MAX_REFUSAL_BYTES = 64 << 10;

/** Sends the upgrade request to the runtime. Rejects with UpgradeRefused; then nothing of the connection is left. */
export async function dialUpstream({ url, method, headers, clock, signal }: UpstreamRequest): Promise<Upgraded> {
  const target = parseUrl(url);
  const options: RequestOptions = {
    method,
    host: target.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: target.port === '' ? (target.protocol === 'https:' ? 443 : 80) : Number(target.port),
    path: target.pathname + target.search,
    // Without a length Node would announce a body in chunks and send its end after the headers.
    headers: [...headers, 'Host', target.host, ...(method === 'POST' ? ['Content-Length', '0'] : [])],
    // A connection of its own, which is never used again for anything else.
    agent: false,
    signal,
  };
  const { promise, resolve, reject } = Promise.withResolvers<Upgraded>();
  const outgoing = (target.protocol === 'https:' ? secureRequest : request)(options);
  const timer = clock.after(CONNECT_TIMEOUT_MS, () => {
    reject(new UpgradeRefused(504, 'the container runtime did not answer the upgrade in time'));
    outgoing.destroy();
  });
  outgoing.once('upgrade', (response: IncomingMessage, socket: Socket, head: Buffer) => {
    if (response.statusCode === 101) resolve({ response, socket, head });
    else {
      socket.destroy();
      reject(new UpgradeRefused(502, 'the container runtime answered the upgrade with something else'));
    }
  });
  outgoing.once('response', (response: IncomingMessage) => {
    void refusal(response).then((err) => {
      outgoing.destroy();
      reject(err);
    });
  });
  outgoing.once('error', (err) => reject(new UpgradeRefused(502, `cannot reach the container runtime's streaming server: ${err.message}`)));
  outgoing.end();
  try {
    return await promise;
  } finally {
    timer.cancel();
  }
}

function parseUrl(url: string): URL {
  const target = URL.parse(url);
  if (target === null || !['http:', 'https:'].includes(target.protocol) || target.hostname === '') {
    throw new UpgradeRefused(500, 'the container runtime gave no usable streaming URL');
  }
  return target;
}

/** A redirect is never followed and never passed on: the client would take its credentials elsewhere. */
async function refusal(response: IncomingMessage): Promise<UpgradeRefused> {
  const status = response.statusCode ?? 502;
  if (status < 400 || status > 599) {
    response.destroy();
    return new UpgradeRefused(502, `the container runtime answered the upgrade with status ${status}`);
  }
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= MAX_REFUSAL_BYTES) break;
    }
  } catch {
    // What came so far tells enough.
  }
  return new UpgradeRefused(status, Buffer.concat(chunks).subarray(0, MAX_REFUSAL_BYTES).toString());
}

/** A client's connection as the proxies see it. */
export type ClientSocket = Duplex;
