import type { Duplex } from 'node:stream';
import { bindLives, type SessionDeps, writeThrough } from './session.ts';
import { dataHead, pingFrame, type SpdyFrame, SpdyHeaderBlocks, SpdyReader, synStream } from './spdy-frames.ts';
import type { Upgraded } from './upstream.ts';
import { WebSocketServer } from './websocket-server.ts';

/** What the session has. Contract http-api §6. */
export interface ExecStreams {
  stdin: boolean;
  stdout: boolean;
  stderr: boolean;
  tty: boolean;
}

/** Channels of v5.channel.k8s.io. */
const CHANNELS = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;
type StreamName = 'stdin' | 'stdout' | 'stderr' | 'error' | 'resize';
/** Data frames to the runtime are cut to this length; the length field has 24 bits. */
const MAX_DATA = 1 << 20;

/**
 * Between a client that speaks v5.channel.k8s.io over a WebSocket and a runtime that speaks v4.channel.k8s.io over SPDY.
 * Resolves once both connections are closed. The handshakes are done.
 */
export function bridgeExec(client: Duplex, head: Buffer, upstream: Upgraded, streams: ExecStreams, deps: SessionDeps): Promise<void> {
  const bridge = new ExecBridge(client, upstream.socket, streams);
  const ended = bindLives(client, upstream.socket, deps);
  bridge.open();
  if (upstream.head.length > 0) bridge.fromRuntime(upstream.head);
  if (head.length > 0) bridge.fromClient(head);
  client.on('data', (chunk: Buffer) => bridge.fromClient(chunk));
  upstream.socket.on('data', (chunk: Buffer) => bridge.fromRuntime(chunk));
  client.once('end', () => bridge.clientGone());
  upstream.socket.once('end', () => bridge.runtimeGone());
  return ended;
}

class ExecBridge {
  readonly #client: Duplex;
  readonly #runtime: Duplex;
  readonly #websocket: WebSocketServer;
  readonly #reader = new SpdyReader();
  readonly #idOf = new Map<StreamName, number>();
  readonly #nameOf = new Map<number, StreamName>();
  /** Streams whose other side has not ended yet. */
  readonly #open = new Set<StreamName>();
  /** The channel of the message that is being read; undefined before its first byte. */
  #channel: number | undefined;
  #stdinEnded = false;
  #hasStatus = false;
  #finished = false;

  constructor(client: Duplex, runtime: Duplex, { stdin, stdout, stderr, tty }: ExecStreams) {
    this.#client = client;
    this.#runtime = runtime;
    this.#websocket = new WebSocketServer(client, {
      message: (data, first, last) => this.#message(data, first, last),
      closed: () => this.clientGone(),
    });
    // The order in which the real client opens them.
    const wanted: [StreamName, boolean][] = [
      ['error', true],
      ['stdin', stdin],
      ['stdout', stdout],
      ['stderr', stderr && !tty],
      ['resize', tty],
    ];
    for (const [i, name] of wanted.flatMap(([n, wants]) => (wants ? [n] : [])).entries()) {
      this.#idOf.set(name, 2 * i + 1);
      this.#nameOf.set(2 * i + 1, name);
      if (name === 'error' || name === 'stdout' || name === 'stderr') this.#open.add(name);
    }
  }

  open(): void {
    const blocks = new SpdyHeaderBlocks();
    for (const [name, id] of this.#idOf) this.#runtime.write(synStream(id, blocks.write([['streamtype', name]])));
    // An empty first message, so that whoever is in between passes the answer on.
    const first = (['stdout', 'stderr', 'error'] as const).find((name) => this.#idOf.has(name)) ?? 'error';
    this.#toClient(CHANNELS[first], Buffer.alloc(0));
  }

  fromClient(chunk: Buffer): void {
    this.#websocket.feed(chunk);
  }

  fromRuntime(chunk: Buffer): void {
    if (this.#finished) return;
    try {
      for (const frame of this.#reader.read(chunk)) this.#frame(frame);
    } catch (err) {
      this.#finish(`the container runtime broke the protocol: ${err instanceof Error ? err.message : String(err)}`);
      this.#runtime.destroy();
    }
  }

  clientGone(): void {
    if (!this.#runtime.writableEnded) this.#runtime.end();
  }

  runtimeGone(): void {
    this.#finish('the connection to the container runtime was lost');
  }

  #frame(frame: SpdyFrame): void {
    if (frame.type === 'ping') {
      // Ours have odd numbers; we send none.
      if (frame.id % 2 === 0) this.#runtime.write(pingFrame(frame.id));
      return;
    }
    if (frame.type !== 'data' && frame.type !== 'reset' && frame.type !== 'synReply') return;
    const name = this.#nameOf.get(frame.streamId);
    if (name === undefined) return;
    if (frame.type === 'data' && frame.data.length > 0) {
      if (name === 'error') this.#hasStatus = true;
      if (name !== 'stdin' && name !== 'resize') this.#toClient(CHANNELS[name], frame.data);
    }
    if (frame.type === 'reset' || frame.fin) {
      this.#open.delete(name);
      if (this.#open.size === 0) this.#finish('the container runtime ended the session without a result');
    }
  }

  /** Ends the session; `fault` is told when the runtime told no result. */
  #finish(fault: string): void {
    if (this.#finished) return;
    this.#finished = true;
    if (!this.#hasStatus) {
      const message = `Internal error occurred: ${fault}`;
      const status = { metadata: {}, status: 'Failure', message, reason: 'InternalError', code: 500 };
      this.#toClient(CHANNELS.error, Buffer.from(JSON.stringify(status)));
    }
    this.#websocket.close();
    if (!this.#runtime.writableEnded) this.#runtime.end();
  }

  #message(data: Buffer, first: boolean, last: boolean): void {
    let rest = data;
    if (first) this.#channel = undefined;
    if (this.#channel === undefined && rest.length > 0) {
      this.#channel = rest[0];
      rest = rest.subarray(1);
    }
    if (this.#channel === CHANNELS.stdin) this.#toRuntime('stdin', rest);
    else if (this.#channel === CHANNELS.resize) this.#toRuntime('resize', rest);
    else if (this.#channel === CHANNELS.close && rest.length > 0 && rest[0] === CHANNELS.stdin) this.#endStdin();
    if (last) this.#channel = undefined;
  }

  #toRuntime(name: StreamName, data: Buffer): void {
    const id = this.#idOf.get(name);
    if (id === undefined || data.length === 0 || (name === 'stdin' && this.#stdinEnded)) return;
    for (let at = 0; at < data.length; at += MAX_DATA) {
      const part = data.subarray(at, at + MAX_DATA);
      writeThrough(this.#runtime, this.#client, [dataHead(id, part.length), part]);
    }
  }

  #endStdin(): void {
    const id = this.#idOf.get('stdin');
    if (id === undefined || this.#stdinEnded) return;
    this.#stdinEnded = true;
    writeThrough(this.#runtime, this.#client, [dataHead(id, 0, true)]);
  }

  #toClient(channel: number, data: Buffer): void {
    const parts = this.#websocket.binary(Buffer.from([channel]), data);
    if (parts.length > 0) writeThrough(this.#client, this.#runtime, parts);
  }
}
