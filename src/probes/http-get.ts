import type { HttpRequest } from './http-request.ts';
import { formatTarget, type HttpTarget, resolveLocation } from './http-url.ts';
import { OUTPUT_LIMIT } from './outcome.ts';
import { exchange, type HttpAnswer } from './raw-http.ts';
import type { Schedule } from './schedule.ts';

const MAX_REQUESTS = 10;
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export interface HttpGetOptions {
  /** Milliseconds for all steps together; 0 for no limit. */
  timeoutMs: number;
  signal: AbortSignal;
  /** Follow a redirect to another host as well; else its answer is the last one. */
  followElsewhere?: boolean;
  /** The head of the last answer is enough. */
  headOnly?: boolean;
}

/** A GET without an answer; the message names the address, the cause is what went wrong. */
export class HttpGetError extends Error {
  override readonly name = 'HttpGetError';
  constructor(at: string, cause: unknown) {
    super(`Get "${at}": ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

/** The answer at the end of the redirects, ten requests at most. Rejects with HttpGetError, or with the signal's reason. */
export async function httpGet(schedule: Schedule, first: HttpRequest, options: HttpGetOptions): Promise<HttpAnswer> {
  const { timeoutMs, signal, followElsewhere = false, headOnly = false } = options;
  const end = schedule.now() + timeoutMs;
  const leadsOn = (request: HttpRequest, status: number, location: string) => {
    if (!redirects.has(status) || location === '') return false;
    const next = tryResolve(request.target, location);
    return followElsewhere || next === undefined || next.hostname === first.target.hostname;
  };
  let request = first;
  for (let count = 1; ; count++) {
    const current = request;
    const answer = await exchange(schedule, current, {
      timeoutMs: timeoutMs > 0 ? Math.max(1, end - schedule.now()) : 0,
      bodyLimit: OUTPUT_LIMIT,
      headOnly: (status, location) => headOnly || leadsOn(current, status, location),
      signal,
    }).catch((err: unknown) => {
      signal.throwIfAborted();
      throw new HttpGetError(formatTarget(current.target), err);
    });
    if (!leadsOn(current, answer.status, answer.location)) return answer;
    request = redirected(current, answer.location, count);
  }
}

function tryResolve(from: HttpTarget, location: string): HttpTarget | undefined {
  try {
    return resolveLocation(from, location);
  } catch {
    return undefined;
  }
}

/** The next request: a Host of its own stays while the location is relative; credentials do not go to another host. */
function redirected(from: HttpRequest, location: string, count: number): HttpRequest {
  let target: HttpTarget;
  try {
    target = resolveLocation(from.target, location);
  } catch (err) {
    throw new HttpGetError(formatTarget(from.target), err);
  }
  if (count >= MAX_REQUESTS) throw new HttpGetError(location, new Error(`stopped after ${MAX_REQUESTS} redirects`));
  const headers = new Map(from.headers);
  if (target.hostname !== from.target.hostname) for (const name of ['Authorization', 'Cookie', 'Www-Authenticate']) headers.delete(name);
  if (from.target.scheme === target.scheme || target.scheme === 'https') {
    headers.set('Referer', [formatTarget({ ...from.target, fragment: undefined })]);
  }
  const isAbsolute = /^[a-z][a-z0-9+.-]*:|^\/\//i.test(location);
  if (isAbsolute) headers.delete('Host');
  return { target, host: isAbsolute ? '' : from.host, headers };
}
