import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { type Agent, request } from 'node:https';
import type { Socket } from 'node:net';
import { dataHead, type SpdyFrame, SpdyHeaderBlocks, SpdyReader, synStream } from '../../src/server/streaming/spdy-frames.ts';
import { clientFrame, opcodes, WebSocketReader } from '../../src/server/streaming/websocket-frames.ts';

/** Speaks to a kubelet's port as clients do. */
export interface KubeletClient {
  /** Default 127.0.0.1. */
  host?: string;
  port: number;
  /** PEM of a client certificate and its key. */
  cert?: string;
  key?: string;
  token?: string;
  /** Keeps connections; default a new one for each request. */
  agent?: Agent;
}

export interface Answer {
  status: number;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

interface CallOptions {
  method?: string;
  body?: string;
  headers?: Record<string, string>;
}

function options(client: KubeletClient, path: string, { method = 'GET', headers = {} }: CallOptions) {
  const { host = '127.0.0.1', port, cert, key, token } = client;
  const auth = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  return {
    host,
    port,
    path,
    method,
    headers: { ...headers, ...auth },
    rejectUnauthorized: false,
    agent: client.agent ?? (false as const),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
}

/** Begins a request; the answer's body is not read. */
export async function begin(client: KubeletClient, path: string, call: CallOptions = {}): Promise<IncomingMessage> {
  const outgoing = request(options(client, path, call));
  outgoing.end(call.body);
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  return response;
}

export async function ask(client: KubeletClient, path: string, call: CallOptions = {}): Promise<Answer> {
  const response = await begin(client, path, call);
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) };
}

export interface Upgraded {
  socket: Socket;
  head: Buffer;
  headers: IncomingMessage['headers'];
}

/** An upgrade request. Resolves with the connection, or with the refusal. */
export function upgrade(client: KubeletClient, path: string, call: CallOptions): Promise<Upgraded | Answer> {
  const outgoing = request(options(client, path, call));
  outgoing.end();
  return new Promise((resolve, reject) => {
    outgoing.once('error', reject);
    outgoing.once('upgrade', (response: IncomingMessage, socket: Socket, head: Buffer) =>
      resolve({ socket, head, headers: response.headers }),
    );
    outgoing.once('response', (response: IncomingMessage) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }));
    });
  });
}

export class Refused extends Error {
  readonly answer: Answer;
  constructor(answer: Answer) {
    super(`refused with ${answer.status}: ${answer.body.toString()}`);
    this.answer = answer;
  }
}

async function upgraded(client: KubeletClient, path: string, call: CallOptions): Promise<Upgraded> {
  const result = await upgrade(client, path, call);
  if ('status' in result) throw new Refused(result);
  return result;
}

/** What an exec or attach gave. */
export interface ExecResult {
  stdout: Buffer;
  stderr: Buffer;
  /** The text of the error channel. */
  status: string;
}

export interface ExecInput {
  stdin?: Buffer;
  resize?: { Width: number; Height: number };
}

export interface Result {
  status?: string;
  reason?: string;
  code?: number;
  message?: string;
  details?: { causes?: { reason?: string; type?: string; message?: string }[] };
}

/** The exit code in a status of v4 and v5; -1 when it tells none. */
export function exitCode(status: string): number {
  const { status: outcome, details } = JSON.parse(status) as Result;
  if (outcome === 'Success') return 0;
  const cause = details?.causes?.find((c) => (c.reason ?? c.type) === 'ExitCode');
  return cause === undefined ? -1 : Number(cause.message);
}

export async function openWebSocket(client: KubeletClient, path: string, protocol: string): Promise<Upgraded> {
  return upgraded(client, path, {
    headers: {
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
      'Sec-WebSocket-Protocol': protocol,
    },
  });
}

/** An exec or attach over a WebSocket with channels, to its end. */
export async function execWebSocket(client: KubeletClient, path: string, protocol: string, input: ExecInput = {}): Promise<ExecResult> {
  const { socket, head } = await openWebSocket(client, path, protocol);
  const channel = (n: number, data: Buffer) => socket.write(clientFrame(opcodes.binary, Buffer.concat([Buffer.from([n]), data])));
  if (input.resize !== undefined) channel(4, Buffer.from(JSON.stringify(input.resize)));
  if (input.stdin !== undefined) {
    for (let at = 0; at < input.stdin.length; at += 32_768) channel(0, input.stdin.subarray(at, at + 32_768));
    channel(255, Buffer.from([0]));
  }
  const out = new Map<number, Buffer[]>();
  const reader = new WebSocketReader('server');
  let current = -1;
  const take = (chunk: Buffer) => {
    for (const piece of reader.read(chunk)) {
      if (piece.type === 'close') socket.end(clientFrame(opcodes.close, Buffer.from([3, 232])));
      if (piece.type !== 'message') continue;
      let data = piece.data;
      if (piece.first) current = -1;
      if (current < 0 && data.length > 0) {
        current = data[0] ?? 0;
        data = data.subarray(1);
      }
      out.set(current, [...(out.get(current) ?? []), data]);
    }
  };
  take(head);
  for await (const chunk of socket as AsyncIterable<Buffer>) take(chunk);
  const of = (n: number) => Buffer.concat(out.get(n) ?? []);
  return { stdout: of(1), stderr: of(2), status: of(3).toString() };
}

/** A SPDY connection with the bytes of each stream. */
export class SpdyClient {
  readonly #socket: { write(data: Buffer): unknown; end(): unknown };
  readonly #blocks = new SpdyHeaderBlocks();
  readonly #reader = new SpdyReader();
  readonly #received = new Map<number, Buffer[]>();
  readonly #ended = new Set<number>();
  readonly #waiting = new Set<() => void>();
  #next = 1;
  closed = false;

  constructor(socket: { write(data: Buffer): unknown; end(): unknown }) {
    this.#socket = socket;
  }

  feed(chunk: Buffer): void {
    for (const frame of this.#reader.read(chunk)) this.#frame(frame);
    this.#wake();
  }

  close(): void {
    this.closed = true;
    this.#wake();
  }

  open(headers: [string, string][]): number {
    const id = this.#next;
    this.#next += 2;
    this.#socket.write(synStream(id, this.#blocks.write(headers)));
    return id;
  }

  send(id: number, data: Buffer, fin = false): void {
    for (let at = 0; at < data.length; at += 65_536) {
      const part = data.subarray(at, at + 65_536);
      this.#socket.write(Buffer.concat([dataHead(id, part.length), part]));
    }
    if (fin) this.#socket.write(dataHead(id, 0, true));
  }

  received(id: number): Buffer {
    return Buffer.concat(this.#received.get(id) ?? []);
  }

  /** Until the other side ended the stream, or the connection is gone. */
  async end(id: number): Promise<Buffer> {
    await this.until(() => this.#ended.has(id));
    return this.received(id);
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition() && !this.closed) await new Promise<void>((wake) => this.#waiting.add(wake));
  }

  #frame(frame: SpdyFrame): void {
    if (frame.type === 'data') this.#received.set(frame.streamId, [...(this.#received.get(frame.streamId) ?? []), frame.data]);
    if (frame.type === 'reset' || (frame.type === 'data' && frame.fin)) this.#ended.add(frame.streamId);
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}

export async function openSpdy(client: KubeletClient, path: string, protocol: string): Promise<{ spdy: SpdyClient; socket: Socket }> {
  const { socket, head } = await upgraded(client, path, {
    method: 'POST',
    headers: { Connection: 'Upgrade', Upgrade: 'SPDY/3.1', 'X-Stream-Protocol-Version': protocol },
  });
  const spdy = new SpdyClient(socket);
  spdy.feed(head);
  socket.on('data', (chunk: Buffer) => spdy.feed(chunk));
  socket.on('error', () => spdy.close());
  socket.once('close', () => spdy.close());
  return { spdy, socket };
}

/** An exec or attach over SPDY, to its end. */
export async function execSpdy(client: KubeletClient, path: string, input: ExecInput = {}): Promise<ExecResult> {
  const query = new URL(`http://kubelet${path}`).searchParams;
  const { spdy, socket } = await openSpdy(client, path, 'v4.channel.k8s.io');
  const error = spdy.open([['streamtype', 'error']]);
  const stdin = query.get('input') === '1' ? spdy.open([['streamtype', 'stdin']]) : undefined;
  const stdout = query.get('output') === '1' ? spdy.open([['streamtype', 'stdout']]) : undefined;
  const stderr = query.get('error') === '1' && query.get('tty') !== '1' ? spdy.open([['streamtype', 'stderr']]) : undefined;
  const resize = query.get('tty') === '1' ? spdy.open([['streamtype', 'resize']]) : undefined;
  if (resize !== undefined && input.resize !== undefined) spdy.send(resize, Buffer.from(JSON.stringify(input.resize)));
  if (stdin !== undefined && input.stdin !== undefined) spdy.send(stdin, input.stdin, true);
  const ends = await Promise.all([stdout, stderr, error].map((id) => (id === undefined ? Promise.resolve(Buffer.alloc(0)) : spdy.end(id))));
  socket.destroy();
  const [out = Buffer.alloc(0), err = Buffer.alloc(0), status = Buffer.alloc(0)] = ends;
  return { stdout: out, stderr: err, status: status.toString() };
}

/** A SPDY connection in the messages of a WebSocket. */
export async function openTunnel(client: KubeletClient, path: string): Promise<{ spdy: SpdyClient; socket: Socket; protocol: string }> {
  const { socket, head, headers } = await openWebSocket(client, path, 'SPDY/3.1+portforward.k8s.io');
  const spdy = new SpdyClient({ write: (data) => socket.write(clientFrame(opcodes.binary, data)), end: () => socket.end() });
  const reader = new WebSocketReader('server');
  const take = (chunk: Buffer) => {
    for (const piece of reader.read(chunk)) if (piece.type === 'message') spdy.feed(piece.data);
  };
  take(head);
  socket.on('data', take);
  socket.on('error', () => spdy.close());
  socket.once('close', () => spdy.close());
  return { spdy, socket, protocol: headers['sec-websocket-protocol'] ?? '' };
}

/** One forwarded connection: sends `data`, and gives what comes back until the other side ends it. */
export async function forwardOnce(spdy: SpdyClient, port: number, data: Buffer, requestId = '0'): Promise<{ data: Buffer; error: string }> {
  const headers = (type: string): [string, string][] => [
    ['streamtype', type],
    ['port', String(port)],
    ['requestid', requestId],
  ];
  const error = spdy.open(headers('error'));
  const stream = spdy.open(headers('data'));
  spdy.send(error, Buffer.alloc(0), true);
  spdy.send(stream, data, true);
  const [answer, text] = await Promise.all([spdy.end(stream), spdy.end(error)]);
  return { data: answer, error: text.toString() };
}
