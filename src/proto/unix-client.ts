import { type ChannelOptions, Client, credentials } from '@grpc/grpc-js';
import type { ServiceDefinition } from '@grpc/proto-loader';
import { type GrpcCode, statusOf } from './grpc-status.ts';
import { localChannel, unaryCall } from './unary-call.ts';

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

const channelOptions: ChannelOptions = { ...localChannel, 'grpc.enable_retries': 0, 'grpc.max_reconnect_backoff_ms': 1000 };

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
  async call<Response>(name: string, request: object, { deadline, signal }: UnixCall): Promise<Response> {
    const method = this.#service[name];
    if (method === undefined) throw new GrpcError('Unimplemented', name, `the protocol has no call ${name}`);
    if (signal?.aborted) throw new GrpcError('Canceled', name, 'context canceled', signal.reason);
    try {
      return await unaryCall<Response>(this.#client, method, request, { deadline, signal });
    } catch (err) {
      const { code, text } = statusOf(err) ?? { code: 'Internal', text: err instanceof Error ? err.message : String(err) };
      throw new GrpcError(code, name, text, err);
    }
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
