import type { KubeApi, QueryValue } from './api.ts';
import { isKubeError, KubeError, recordOf } from './errors.ts';

export interface ListRequest {
  path: string;
  query: Readonly<Record<string, QueryValue>>;
  /** Not older than this; `0`: whatever the server has at hand; empty: the newest. */
  resourceVersion: string;
  pageSize: number;
  /** For each page. Milliseconds. */
  timeoutMs: number;
  signal: AbortSignal;
  onRequest(): void;
}

export interface ListResult {
  items: unknown[];
  /** That a watch goes on from. */
  resourceVersion: string;
}

/**
 * A whole list, page by page. When the continue token expires on the way (the server keeps it for some minutes), all is
 * asked for at once, as client-go does. Rejects with KubeError.
 */
export async function listAll(api: KubeApi, request: ListRequest): Promise<ListResult> {
  try {
    return await pages(api, request, request.pageSize);
  } catch (err) {
    if (!(err instanceof ExpiredContinue)) throw err;
    return await pages(api, request, 0);
  }
}

class ExpiredContinue extends Error {}

async function pages(api: KubeApi, request: ListRequest, limit: number): Promise<ListResult> {
  const { path, query, resourceVersion, timeoutMs, signal, onRequest } = request;
  const items: unknown[] = [];
  let next = '';
  for (;;) {
    onRequest();
    let page: unknown;
    try {
      page = await api.request({
        method: 'GET',
        path,
        query: {
          ...query,
          limit: limit === 0 ? undefined : limit,
          ...(next === ''
            ? { resourceVersion: resourceVersion || undefined, resourceVersionMatch: resourceVersion === '' ? undefined : 'NotOlderThan' }
            : { continue: next }),
        },
        timeoutMs,
        signal,
        retry: false,
      });
    } catch (err) {
      if (next !== '' && isKubeError(err, 'Gone')) throw new ExpiredContinue();
      throw err;
    }
    const list = recordOf(page);
    const metadata = recordOf(list?.['metadata']);
    const version = metadata?.['resourceVersion'];
    const found = list?.['items'] ?? [];
    if (typeof version !== 'string' || version === '' || !Array.isArray(found)) {
      throw new KubeError('BadResponse', `LIST ${path}`, 'the answer is no list');
    }
    items.push(...(found as unknown[]));
    const token = metadata?.['continue'];
    if (typeof token !== 'string' || token === '') return { items, resourceVersion: version };
    next = token;
  }
}
