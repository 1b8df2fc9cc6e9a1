import { type ChannelOptions, Client, type ClientReadableStream, credentials, Metadata } from '@grpc/grpc-js';
import type { ServiceDefinition } from '@grpc/proto-loader';
import type { Clock } from '../host/clock.ts';
import { localChannel, unaryCall } from '../proto/unary-call.ts';
import { CriError, toCriError } from './errors.ts';
import { type Instrumentation, operationTypes, type RpcName } from './instrumentation.ts';

/** Both ways; the library's own default of 4 MiB is too small for a list of a full node. */
export const maxMessageBytes = 16 * 1024 * 1024;

/** Contract: compat-matrix.md §1. */
const channelOptions: ChannelOptions = {
  ...localChannel,
  'grpc.max_receive_message_length': maxMessageBytes,
  'grpc.max_send_message_length': maxMessageBytes,
  'grpc.max_reconnect_backoff_ms': 3000,
};

/** What one call needs to be told. */
export interface RpcCall {
  signal?: AbortSignal | undefined;
  /** Milliseconds; 0 means none. */
  timeoutMs: number;
  /** For the health report. */
  object?: string | undefined;
}

/**
 * One gRPC channel to a runtime, for the life of the process. It connects on first use and again after a loss by
 * itself; a call made while there is no connection fails at once with `Unavailable`.
 */
export class RuntimeConnection {
  readonly target: string;
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #instrumentation: Instrumentation;
  readonly #emptyMetadata = new Metadata();

  /** `target` as `endpointTarget` gives it. */
  constructor(target: string, clock: Clock, instrumentation: Instrumentation) {
    this.target = target;
    this.#client = new Client(target, credentials.createInsecure(), channelOptions);
    this.#clock = clock;
    this.#instrumentation = instrumentation;
  }

  /** Ends every call under way with `Canceled` and lets go of the socket. */
  close(): void {
    this.#client.close();
  }

  /** One request, one answer. Rejects with CriError; `Canceled` when `signal` aborts. */
  async unary<Response>(service: ServiceDefinition, name: RpcName, request: object, call: RpcCall): Promise<Response> {
    const { signal, timeoutMs, object = '' } = call;
    if (signal?.aborted) throw abortError(name, signal);
    const method = methodOf(service, name);
    const done = this.#instrumentation.begin(name, operationTypes[name], object);
    try {
      const answer = await unaryCall<Response>(this.#client, method, request, { ...this.#deadline(timeoutMs), signal });
      done(false);
      return answer;
    } catch (err) {
      done(true);
      throw signal?.aborted ? abortError(name, signal) : toCriError(err, name);
    }
  }

  /**
   * One request, many answers, in order, as fast as they are taken. Ends when the server ends the stream; throws
   * CriError; leaving the loop early cancels the call.
   */
  async *stream<Response>(service: ServiceDefinition, name: RpcName, request: object, call: RpcCall): AsyncGenerator<Response, void, void> {
    const { signal, timeoutMs, object = '' } = call;
    if (signal?.aborted) throw abortError(name, signal);
    const method = methodOf(service, name);
    const done = this.#instrumentation.begin(name, operationTypes[name], object, timeoutMs > 0);
    let sent: ClientReadableStream<object> | undefined;
    const onAbort = () => sent?.cancel();
    let failed = true;
    try {
      sent = this.#client.makeServerStreamRequest(
        method.path,
        method.requestSerialize,
        method.responseDeserialize,
        request,
        this.#emptyMetadata,
        this.#deadline(timeoutMs),
      );
      signal?.addEventListener('abort', onAbort, { once: true });
      for await (const message of sent) yield message as Response;
      failed = false;
    } catch (err) {
      throw signal?.aborted ? abortError(name, signal) : toCriError(err, name);
    } finally {
      signal?.removeEventListener('abort', onAbort);
      // A late error event of a cancelled stream has no reader any more.
      sent?.on('error', () => {});
      sent?.cancel();
      done(failed);
    }
  }

  #deadline(timeoutMs: number): { deadline?: number } {
    return timeoutMs > 0 ? { deadline: this.#clock.now() + timeoutMs } : {};
  }
}

function methodOf(service: ServiceDefinition, name: RpcName) {
  const method = service[name];
  if (method === undefined) throw new CriError('Unimplemented', name, `the protocol has no call ${name}`);
  return method;
}

function abortError(operation: string, signal: AbortSignal): CriError {
  return new CriError('Canceled', operation, 'context canceled', signal.reason);
}
