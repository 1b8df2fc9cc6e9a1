import { HttpGetError, type HttpGetOptions, httpGet } from './http-get.ts';
import type { HttpRequest } from './http-request.ts';
import type { ProbeOutcome } from './outcome.ts';
import { HttpTimeout } from './raw-http.ts';
import type { Schedule } from './schedule.ts';

/**
 * GETs and judges the answer (contract: pod-lifecycle.md §8, http; vectors http-probe-request). Rejects only when the
 * body was not over in time, with HttpTimeout, or on an abort: all else is a failure of the probe.
 */
export async function httpProbe(
  schedule: Schedule,
  request: HttpRequest,
  options: Pick<HttpGetOptions, 'timeoutMs' | 'signal' | 'followElsewhere'>,
): Promise<ProbeOutcome> {
  try {
    const { status, body } = await httpGet(schedule, request, options);
    // The body of a refusal is not shown: it may hold what the readers of events should not see.
    if (status < 200 || status >= 400) return { result: 'failure', output: `HTTP probe failed with statuscode: ${status}` };
    if (status >= 300) return { result: 'warning', output: `Probe terminated redirects, Response body: ${body}` };
    return { result: 'success', output: body };
  } catch (err) {
    if (!(err instanceof HttpGetError)) throw err;
    if (err.cause instanceof HttpTimeout && err.cause.inBody) throw err.cause;
    return { result: 'failure', output: err.message };
  }
}
