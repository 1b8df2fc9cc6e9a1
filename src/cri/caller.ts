import type { ServiceDefinition } from '@grpc/proto-loader';
import type { RuntimeConnection } from './connection.ts';
import { CriError, isCriError } from './errors.ts';
import type { RpcName } from './instrumentation.ts';
import type { CallOptions } from './types.ts';

/** One service of a runtime with the usual deadline: what the clients' methods share. */
export class ServiceCaller {
  readonly timeoutMs: number;
  readonly #connection: RuntimeConnection;
  readonly #service: ServiceDefinition;
  #listStreaming: boolean;

  /** `timeoutMs` is runtimeRequestTimeout. `listStreaming` is the gate CRIListStreaming. */
  constructor(connection: RuntimeConnection, service: ServiceDefinition, timeoutMs: number, listStreaming: boolean) {
    this.#connection = connection;
    this.#service = service;
    this.timeoutMs = timeoutMs;
    this.#listStreaming = listStreaming;
  }

  /** `opts.timeoutMs` wins over `timeoutMs`, which wins over the usual deadline. */
  call<Response>(
    name: RpcName,
    request: object,
    opts: CallOptions | undefined,
    object = '',
    timeoutMs = this.timeoutMs,
  ): Promise<Response> {
    return this.#connection.unary(this.#service, name, request, {
      signal: opts?.signal,
      timeoutMs: opts?.timeoutMs ?? timeoutMs,
      object,
    });
  }

  stream<Response>(name: RpcName, request: object, signal: AbortSignal | undefined, timeoutMs: number): AsyncIterable<Response> {
    return this.#connection.stream(this.#service, name, request, { signal, timeoutMs });
  }

  /**
   * A list by its streaming call when that is switched on, else (or when the runtime does not know it: then for good)
   * by the plain one. Contract: compat-matrix.md §2, Stream*.
   */
  async list<Item>(plain: ListCall<Item>, streaming: ListCall<Item>, request: object, opts: CallOptions | undefined): Promise<Item[]> {
    if (this.#listStreaming) {
      try {
        const items: Item[] = [];
        const timeoutMs = opts?.timeoutMs ?? this.timeoutMs;
        for await (const part of this.stream<Record<string, unknown>>(streaming.rpc, request, opts?.signal, timeoutMs)) {
          items.push(...streaming.items(part));
        }
        return items;
      } catch (err) {
        if (!isCriError(err, 'Unimplemented')) throw err;
        this.#listStreaming = false;
      }
    }
    return plain.items(await this.call<Record<string, unknown>>(plain.rpc, request, opts));
  }
}

/** A list call and where its answer holds the items. */
export interface ListCall<Item> {
  rpc: RpcName;
  items(response: Record<string, unknown>): Item[];
}

/** A ListCall whose items lie under `field`. */
export function listCall<Item>(rpc: RpcName, field: string): ListCall<Item> {
  return { rpc, items: (response) => response[field] as Item[] };
}

/** `value`, or CriError when the runtime left out what its answer must hold. */
export function required<T>(value: T | null | undefined | '', operation: RpcName, what: string): T {
  if (value === null || value === undefined || value === '')
    throw new CriError('Internal', operation, `the runtime answered without ${what}`);
  return value;
}
