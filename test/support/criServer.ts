import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type { ServiceDefinition } from '@grpc/proto-loader';
import { loadCriProtocol } from '../../src/cri/protocol.ts';

/** A request as the server decoded it: every field present, enums as numbers, int64 as {low, high}. */
export type Wire = Record<string, unknown>;

/** What a handler may look at and do beside answering. */
export interface CallSide {
  /** Milliseconds that the client left for this call; undefined: no deadline. */
  leftMs: number | undefined;
  /** Aborts when the client gave up. */
  cancelled: AbortSignal;
  /** Sends one message of a streaming answer. */
  send(message: Wire): void;
}

/**
 * Answers one RPC: the response (a Buffer goes out as it is, valid or not), or a thrown `GrpcFailure`. A streaming
 * handler sends and returns nothing.
 */
export type Handler = (request: Wire, side: CallSide) => Answer | Promise<Answer>;
type Answer = Wire | Buffer | undefined;

/** A gRPC status that a handler fails with. */
export class GrpcFailure extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export const versionAnswer = { version: '0.1.0', runtimeName: 'fake', runtimeVersion: '1.2.3', runtimeApiVersion: 'v1' };

const protocol = loadCriProtocol();

/**
 * A runtime on a unix socket that speaks our own protocol file and does only what `handlers` say (any other RPC is
 * Unimplemented). `handlers` may be changed while it runs.
 */
export class CriServer implements AsyncDisposable {
  readonly #dir = mkdtempSync(join(tmpdir(), 'kts-cri-'));
  readonly path = join(this.#dir, 'cri.sock');
  readonly endpoint = `unix://${this.path}`;
  readonly handlers = new Map<string, Handler>([['Version', () => versionAnswer]]);
  #server: Server | undefined;

  static async start(handlers: Record<string, Handler> = {}): Promise<CriServer> {
    const server = new CriServer();
    for (const [name, handler] of Object.entries(handlers)) server.handlers.set(name, handler);
    await server.listen();
    return server;
  }

  async listen(): Promise<void> {
    const server = new Server({ 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 });
    for (const service of [protocol.runtime, protocol.images]) {
      const implementation: UntypedServiceImplementation = {};
      for (const [name, method] of Object.entries(service)) {
        implementation[name] = method.responseStream
          ? (call: ServerWritableStream<Wire, Wire>) => void this.#streaming(name, call)
          : (call: ServerUnaryCall<Wire, object>, callback: sendUnaryData<object>) => void this.#unary(name, call, callback);
      }
      server.addService(withRawAnswers(service), implementation);
    }
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.bindAsync(`unix:${this.path}`, ServerCredentials.createInsecure(), (err) => (err ? reject(err) : resolve()));
    });
  }

  /** Drops every connection at once, as a killed runtime does. */
  kill(): void {
    this.#server?.forceShutdown();
    rmSync(this.path, { force: true });
  }

  /** Leaves the socket's file behind with nobody listening, as a crash does. */
  async abandon(): Promise<void> {
    this.kill();
    const leftover = createServer();
    await new Promise<void>((resolve) => leftover.listen(`${this.path}.tmp`, resolve));
    renameSync(`${this.path}.tmp`, this.path);
    await new Promise<void>((resolve) => leftover.close(() => resolve()));
  }

  /** Says goodbye (GOAWAY) and waits for the calls under way. */
  async drain(): Promise<void> {
    await new Promise<void>((resolve) => this.#server?.tryShutdown(() => resolve()));
    rmSync(this.path, { force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill();
    rmSync(this.#dir, { recursive: true, force: true });
  }

  async #unary(name: string, call: ServerUnaryCall<Wire, object>, callback: sendUnaryData<object>): Promise<void> {
    try {
      callback(null, (await this.#handler(name)(call.request, sideOf(call))) ?? {});
    } catch (err) {
      callback(failureOf(err));
    }
  }

  async #streaming(name: string, call: ServerWritableStream<Wire, Wire>): Promise<void> {
    try {
      await this.#handler(name)(call.request, sideOf(call));
      call.end();
    } catch (err) {
      call.emit('error', failureOf(err));
    }
  }

  #handler(name: string): Handler {
    const handler = this.handlers.get(name);
    if (!handler) throw new GrpcFailure(status.UNIMPLEMENTED, `unknown method ${name}`);
    return handler;
  }
}

/** The service with a serializer that lets a Buffer through untouched. */
function withRawAnswers(service: ServiceDefinition): ServiceDefinition {
  const raw = Object.entries(service).map(([name, method]) => {
    const responseSerialize = (value: object) => (Buffer.isBuffer(value) ? value : method.responseSerialize(value));
    return [name, { ...method, responseSerialize }];
  });
  return Object.fromEntries(raw) as ServiceDefinition;
}

function sideOf(call: ServerUnaryCall<Wire, object> | ServerWritableStream<Wire, Wire>): CallSide {
  const gone = new AbortController();
  call.on('cancelled', () => gone.abort());
  const deadline = call.getDeadline();
  const at = typeof deadline === 'number' ? deadline : deadline.getTime();
  return {
    leftMs: Number.isFinite(at) ? at - Date.now() : undefined,
    cancelled: gone.signal,
    send: (message) => {
      if ('write' in call) call.write(message);
    },
  };
}

function failureOf(err: unknown): Error & { code: number; details: string } {
  const message = err instanceof Error ? err.message : String(err);
  return Object.assign(new Error(message), { code: err instanceof GrpcFailure ? err.code : status.INTERNAL, details: message });
}
