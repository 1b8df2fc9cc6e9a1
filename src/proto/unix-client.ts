import { type ChannelOptions, Client, type ClientUnaryCall, credentials, Metadata } from '@grpc/grpc-js';
import type { ServiceDefinition } from '@grpc/proto-loader';
import { type GrpcCode, statusOf } from './grpc-status.ts';

/** A call that failed: gRPC's code and the peer's own text. Its message is Go's: `rpc error: code = ... desc = ...`. */
export class GrpcError extends Error {
  readonly code: GrpcCode;
  /** The call, e.g. `NodeStageVolume`. */
  readonly operation: string;
  readonly text: string;

  constructor(code: GrpcCode, operation: string, text: string, cause?: unknown) {
    super(`rpc error: code = ${code} desc = ${text}`, cause === undefined ? undefined : { cause });
    this.name = 'GrpcError';
    this.code = code;
    this.operation = operation;
    this.text = text;
  }
}

/** True for a GrpcError with one of `codes` (any code when none is given). */
export function isGrpcError(err: unknown, ...codes: GrpcCode[]): err is GrpcError {
  return err instanceof GrpcError && (codes.length === 0 || codes.includes(err.code));
}

export interface UnixCall {
  /** Wall-clock milliseconds at which the call is given up. */
  deadline: number;
  signal?: AbortSignal | undefined;
}

/** Servers in Go and Rust refuse a socket's path as authority. */
const channelOptions: ChannelOptions = {
  'grpc.default_authority': 'localhost',
  'grpc.enable_http_proxy': 0,
  'grpc.enable_retries': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_channelz': 0,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1000,
};

/** A connection to a plug-in's service on a unix socket. Made for each operation, so that a plug-in may restart in between. */
export class UnixClient implements Disposable {
  readonly #client: Client;
  readonly #service: ServiceDefinition;

  /** `path` is absolute; nothing is opened yet. */
  constructor(path: string, service: ServiceDefinition) {
    this.#client = new Client(`unix:${path}`, credentials.createInsecure(), channelOptions);
    this.#service = service;
  }

  /** One request, one answer. Rejects with GrpcError. */
  call<Response>(name: string, request: object, { deadline, signal }: UnixCall): Promise<Response> {
    const method = this.#service[name];
    if (method === undefined) return Promise.reject(new GrpcError('Unimplemented', name, `the protocol has no call ${name}`));
    if (signal?.aborted) return Promise.reject(new GrpcError('Canceled', name, 'context canceled', signal.reason));
    return new Promise((resolve, reject) => {
      let sent: ClientUnaryCall | undefined;
      const onAbort = () => sent?.cancel();
      const done = (err: unknown, response?: object) => {
        signal?.removeEventListener('abort', onAbort);
        if (err === null) return resolve(response as Response);
        const { code, text } = statusOf(err) ?? { code: 'Internal', text: err instanceof Error ? err.message : String(err) };
        reject(new GrpcError(code, name, text, err));
      };
      try {
        sent = this.#client.makeUnaryRequest(
          method.path,
          method.requestSerialize,
          method.responseDeserialize,
          request,
          new Metadata(),
          { deadline },
          done,
        );
      } catch (err) {
        done(err);
        return;
      }
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** Resolves once there is a connection. Rejects with GrpcError when there is none by `deadline` (wall-clock milliseconds). */
  connected(deadline: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#client.waitForReady(deadline, (err) => {
        if (err === undefined) resolve();
        else reject(new GrpcError('DeadlineExceeded', 'dial', 'context deadline exceeded', err));
      });
    });
  }

  /** Calls under way end with Canceled. */
  [Symbol.dispose](): void {
    this.#client.close();
  }
}
