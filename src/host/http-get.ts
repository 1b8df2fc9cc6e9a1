import { get as httpGet, type IncomingMessage } from 'node:http';
import { get as httpsGet } from 'node:https';

/** The answer to a GET: its status and its body, which must be read or the signal aborted. */
export interface HttpAnswer {
  status: number;
  statusText: string;
  body: AsyncIterable<Uint8Array> | null;
}

export interface HttpGetOptions {
  headers: Readonly<Record<string, readonly string[]>>;
  signal: AbortSignal;
}

const MAX_REDIRECTS = 10;

/**
 * GET over node:http(s), following redirects. In place of `fetch`, whose parser is WebAssembly: the agent also runs
 * with flags of the engine that lack it. Rejects with Node's error, or the signal's reason.
 */
export async function systemGet(url: string, options: HttpGetOptions): Promise<HttpAnswer> {
  let target = new URL(url);
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    const message = await one(target, options);
    const { statusCode: status = 0, statusMessage: statusText = '', headers } = message;
    if (status < 300 || status >= 400 || headers.location === undefined) return { status, statusText, body: message };
    message.destroy();
    target = new URL(headers.location, target);
  }
  throw new Error(`stopped after ${MAX_REDIRECTS} redirects`);
}

function one(url: URL, { headers, signal }: HttpGetOptions): Promise<IncomingMessage> {
  const get = url.protocol === 'https:' ? httpsGet : httpGet;
  return new Promise((resolve, reject) => {
    const own = Object.fromEntries(Object.entries(headers).map(([name, values]) => [name, [...values]]));
    get(url, { headers: own, signal, agent: false }, resolve).on('error', reject);
  });
}
