/** One HTTP request as it goes out. */
export interface TransportRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path with query. */
  path: string;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  body?: string | undefined;
  signal: AbortSignal;
  /** The answer is a watch: it may last, and is ended when the connection's credentials are replaced. */
  lasting: boolean;
}

export interface TransportResponse {
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string | undefined>>;
  /**
   * The bytes as they come. Throws when the connection breaks before the end; leaving the loop early cancels the
   * request.
   */
  body: AsyncIterable<Uint8Array>;
}

/**
 * Moves requests to the API server and back: real ones over the network, simulated ones in `test/sim`. `send` rejects
 * with `TransportError` when no answer comes, with the signal's reason when it aborts.
 */
export interface KubeTransport {
  send(request: TransportRequest): Promise<TransportResponse>;
  /** Ends every request under way. */
  close(): void;
}

/** No answer, or half of one. */
export class TransportError extends Error {
  /** The server has surely not acted on the request: it may be sent again whatever its method. */
  readonly unsent: boolean;
  constructor(message: string, unsent: boolean, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'TransportError';
    this.unsent = unsent;
  }
}
