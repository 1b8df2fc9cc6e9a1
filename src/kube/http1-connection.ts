import { type Agent, type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Connection } from './node-transport.ts';
import { TransportError, type TransportRequest, type TransportResponse } from './transport.ts';

/** HTTP/1.1 with keep-alive: for a plain http server, or one (a proxy before it) that does not take HTTP/2. */
export class Http1Connection implements Connection {
  readonly #server: URL;
  readonly #agent: Agent;
  readonly #watches = new Set<ClientRequest>();
  #answered = false;
  #retired = false;

  /** `agent` for the protocol of `server`, holding what TLS needs. */
  constructor(server: URL, agent: Agent) {
    this.#server = server;
    this.#agent = agent;
  }

  get usable(): boolean {
    return !this.#retired;
  }

  get proven(): boolean {
    return this.#answered;
  }

  async send({ method, path, headers, body, signal, lasting }: TransportRequest): Promise<TransportResponse> {
    signal.throwIfAborted();
    const request = this.#agent instanceof HttpsAgent ? httpsRequest : httpRequest;
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    const sent = request(new URL(path, this.#server), { method, agent: this.#agent, headers: { ...headers, ...length } });
    if (lasting) this.#watches.add(sent);
    const onAbort = () => sent.destroy();
    signal.addEventListener('abort', onAbort, { once: true });
    sent.once('close', () => {
      this.#watches.delete(sent);
      signal.removeEventListener('abort', onAbort);
    });
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      sent.once('response', resolve);
      sent.on('error', (err) => reject(signal.aborted ? (signal.reason as Error) : new TransportError(err.message, false, err)));
      sent.once('close', () => reject(signal.aborted ? (signal.reason as Error) : new TransportError('the connection was closed', false)));
      sent.end(body);
    });
    this.#answered = true;
    const { 'retry-after': retryAfter, 'content-type': contentType } = answer.headers;
    return {
      status: answer.statusCode ?? 0,
      headers: { 'retry-after': retryAfter, 'content-type': contentType },
      body: bodyOf(answer, signal),
    };
  }

  retire(): void {
    this.#retired = true;
    for (const request of this.#watches) request.destroy(new TransportError('the credentials of the connection were replaced', false));
    // Sockets in use end with their request.
    this.#agent.maxFreeSockets = 0;
    for (const sockets of Object.values(this.#agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
  }

  destroy(): void {
    this.#retired = true;
    this.#agent.destroy();
  }
}

async function* bodyOf(answer: IncomingMessage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  answer.on('error', () => {});
  try {
    for await (const chunk of answer) yield chunk as Uint8Array;
  } catch (err) {
    if (signal.aborted) throw signal.reason;
    throw new TransportError(err instanceof Error ? err.message : String(err), false, err);
  }
  if (signal.aborted) throw signal.reason;
  if (!answer.complete) throw new TransportError('the connection was closed within the answer', false);
}
