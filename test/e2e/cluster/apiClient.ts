import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import type { CertificateAndKey } from './pki.ts';

/** An object of the API as the tests see it. */
export interface ApiObject {
  apiVersion?: string;
  kind?: string;
  metadata: {
    name: string;
    namespace?: string;
    uid?: string;
    resourceVersion?: string;
    generation?: number;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    creationTimestamp?: string;
    deletionTimestamp?: string;
    ownerReferences?: unknown[];
  };
  // biome-ignore lint/suspicious/noExplicitAny: tests read deep into objects of every kind, and assert what they find there
  spec?: any;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  status?: any;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  [field: string]: any;
}

export interface WatchEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  object: ApiObject;
}

/** What the API server refused. */
export class ApiRequestError extends Error {
  readonly status: number;
  readonly reason: string;
  constructor(message: string, status: number, reason: string) {
    super(message);
    this.name = 'ApiRequestError';
    this.status = status;
    this.reason = reason;
  }
}

const PATCH_TYPES = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
};

/**
 * The tests' own way to the API server, which shares nothing with the agent's: a fault of the agent's client must not
 * hide itself. Paths as in `/api/v1/namespaces/default/pods`. Requests end after 30 s.
 */
export class ApiClient {
  readonly #server: URL;
  readonly #agent: Agent;

  constructor(server: string, caPem: string, credentials: CertificateAndKey) {
    this.#server = new URL(server);
    this.#agent = new Agent({ keepAlive: true, ca: caPem, cert: credentials.certPem, key: credentials.keyPem });
  }

  get(path: string): Promise<ApiObject> {
    return this.#json('GET', path);
  }

  /** The items of a list. */
  async list(path: string): Promise<ApiObject[]> {
    return (await this.#json('GET', path))['items'] as ApiObject[];
  }

  /** As `get`, but undefined when there is no such object. */
  async find(path: string): Promise<ApiObject | undefined> {
    try {
      return await this.get(path);
    } catch (error) {
      if (error instanceof ApiRequestError && error.status === 404) return undefined;
      throw error;
    }
  }

  post(path: string, body: unknown): Promise<ApiObject> {
    return this.#json('POST', path, body);
  }

  put(path: string, body: unknown): Promise<ApiObject> {
    return this.#json('PUT', path, body);
  }

  patch(path: string, body: unknown, type: keyof typeof PATCH_TYPES = 'merge'): Promise<ApiObject> {
    return this.#json('PATCH', path, body, PATCH_TYPES[type]);
  }

  /** `graceSeconds` 0 removes a pod from the API server at once. */
  delete(path: string, options: { graceSeconds?: number; propagation?: 'Background' | 'Foreground' } = {}): Promise<ApiObject> {
    return this.#json('DELETE', path, {
      ...(options.graceSeconds === undefined ? {} : { gracePeriodSeconds: options.graceSeconds }),
      ...(options.propagation === undefined ? {} : { propagationPolicy: options.propagation }),
    });
  }

  /** The body as text, whatever it is: logs, metrics, what a kubelet answers through the proxy. */
  async text(path: string): Promise<string> {
    return (await this.#call('GET', path)).body;
  }

  /** True when /readyz says ok. */
  async ready(): Promise<boolean> {
    try {
      return (await this.#call('GET', '/readyz', undefined, undefined, 2_000)).status === 200;
    } catch {
      return false;
    }
  }

  /** One watch, until the server ends it or `signal` aborts. `path` with its selectors; from `resourceVersion` of the query. */
  async *watch(path: string, signal: AbortSignal): AsyncGenerator<WatchEvent> {
    const response = await this.#open('GET', `${path}${path.includes('?') ? '&' : '?'}watch=1`, undefined, undefined, signal);
    let rest = '';
    response.setEncoding('utf8');
    try {
      for await (const chunk of response) {
        const lines = (rest + String(chunk)).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) if (line !== '') yield JSON.parse(line) as WatchEvent;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  async #json(method: string, path: string, body?: unknown, type?: string): Promise<ApiObject> {
    return JSON.parse((await this.#call(method, path, body, type)).body) as ApiObject;
  }

  async #call(method: string, path: string, body?: unknown, type?: string, timeoutMs = 30_000): Promise<{ status: number; body: string }> {
    const response = await this.#open(method, path, body, type, AbortSignal.timeout(timeoutMs));
    let text = '';
    response.setEncoding('utf8');
    for await (const chunk of response) text += String(chunk);
    const status = response.statusCode ?? 0;
    if (status >= 200 && status < 300) return { status, body: text };
    const { message, reason } = statusOf(text);
    throw new ApiRequestError(`${method} ${path}: ${status} ${message}`, status, reason);
  }

  #open(method: string, path: string, body: unknown, type: string | undefined, signal: AbortSignal): Promise<IncomingMessage> {
    const payload = body === undefined ? undefined : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const req = request(
        new URL(path, this.#server),
        {
          method,
          agent: this.#agent,
          signal,
          headers: {
            accept: 'application/json',
            ...(payload === undefined ? {} : { 'content-type': type ?? 'application/json', 'content-length': Buffer.byteLength(payload) }),
          },
        },
        resolve,
      );
      req.once('error', reject);
      req.end(payload);
    });
  }
}

function statusOf(text: string): { message: string; reason: string } {
  try {
    const value = JSON.parse(text) as { message?: string; reason?: string };
    return { message: value.message ?? text, reason: value.reason ?? '' };
  } catch {
    return { message: text.slice(0, 500), reason: '' };
  }
}
