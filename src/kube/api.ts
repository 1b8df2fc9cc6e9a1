import type { ObjectMeta } from '../api/types.ts';

/** What every object of the API has. */
export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata: Partial<ObjectMeta> & { name: string };
}

export type QueryValue = string | number | boolean | undefined;

export interface KubeCall {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Without query: `/api/v1/nodes/n1`. */
  path: string;
  query?: Readonly<Record<string, QueryValue>> | undefined;
  /** Sent as JSON. */
  body?: unknown;
  /** Of the body; default application/json. */
  contentType?: string | undefined;
  signal?: AbortSignal | undefined;
  /** For the whole call with its retries; of a stream: until the answer begins. 0 or absent: none. */
  timeoutMs?: number | undefined;
  /** Send again by itself when the server says when (Retry-After). Default true. */
  retry?: boolean | undefined;
}

/** What one call may be told beside its object. */
export type CallOptions = Pick<KubeCall, 'signal' | 'timeoutMs'>;

/** The API server as the agent's rooms use it. Every failure is a `KubeError`. */
export interface KubeApi {
  /** The JSON of the answer. The caller names its type: the server is trusted to keep to its API. */
  request<T>(call: KubeCall): Promise<T>;
  /**
   * The JSON values of a watch, one per line, as they come; ends when the server ends the answer. Not subject to the
   * limit of requests, as in client-go. The result must be iterated; leaving the loop cancels the request.
   */
  stream(call: KubeCall): Promise<AsyncIterable<unknown>>;
}
