import { mkdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { Server, ServerCredentials, type ServerWritableStream, status, type UntypedServiceImplementation } from '@grpc/grpc-js';
import type { ServiceDefinition } from '@grpc/proto-loader';

/** A message as it was decoded: every field present. */
export type Message = Record<string, unknown>;

/** A status that a handler fails with. */
export class GrpcFailure extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** Answers a call by any number of replies: one is what the protocol wants. A Buffer goes out as it is. */
export type CallHandler = (name: string, request: Message, reply: (answer: Message | Buffer) => void) => Promise<void>;

/** Services of a plug-in on a unix socket. What arrives is unary; the handler may break that. */
export class PluginServer {
  readonly path: string;
  readonly #services: readonly ServiceDefinition[];
  readonly #handle: CallHandler;
  #server: Server | undefined;

  constructor(path: string, services: readonly ServiceDefinition[], handle: CallHandler) {
    this.path = path;
    this.#services = services;
    this.#handle = handle;
  }

  async listen(): Promise<void> {
    mkdirSync(dirname(this.path), { recursive: true });
    const server = new Server();
    for (const service of this.#services) {
      const implementation: UntypedServiceImplementation = {};
      for (const name of Object.keys(service)) {
        implementation[name] = (call: ServerWritableStream<Message, object>) => void this.#answer(name, call);
      }
      server.addService(withAnyAnswers(service), implementation);
    }
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.bindAsync(`unix:${this.path}`, ServerCredentials.createInsecure(), (err) => (err ? reject(err) : resolve()));
    });
  }

  /** Ends every connection and takes the socket away, as the death of the plug-in and its clean-up do. */
  close(): void {
    this.#server?.forceShutdown();
    this.#server = undefined;
    rmSync(this.path, { force: true });
  }

  async #answer(name: string, call: ServerWritableStream<Message, object>): Promise<void> {
    try {
      await this.#handle(name, call.request, (answer) => call.write(answer));
      call.end();
    } catch (err) {
      const message = err instanceof Error ? err.message : String(err);
      const code = err instanceof GrpcFailure ? err.code : status.INTERNAL;
      call.emit('error', Object.assign(new Error(message), { code, details: message }));
    }
  }
}

function withAnyAnswers(service: ServiceDefinition): ServiceDefinition {
  const any = Object.entries(service).map(([name, method]) => {
    const responseSerialize = (value: object) => (Buffer.isBuffer(value) ? value : method.responseSerialize(value));
    return [name, { ...method, responseStream: true, responseSerialize }];
  });
  return Object.fromEntries(any) as ServiceDefinition;
}
