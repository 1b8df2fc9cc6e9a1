import type { Pod } from '../api/types.ts';
import { openMetricsContentType, takesOpenMetrics, toOpenMetrics } from '../stats/open-metrics.ts';
import type { Handler } from './http.ts';
import { sendJson, sendText } from './http.ts';
import type { HealthResults } from './slis.ts';

export interface ReadOnlyDeps {
  healthz: Handler;
  /** Every pod the agent was told about, with its status. */
  pods(): Pod[];
  /** The Prometheus text of the agent's metrics. */
  metrics(): Promise<string>;
  /** The text of /metrics/probes. */
  probeMetrics(): Promise<string>;
  /** The text of /metrics/resource. */
  resourceMetrics(): Promise<string>;
  /** The text of /metrics/cadvisor. */
  cadvisorMetrics(): Promise<string>;
  /** Of the health checks, for /metrics/slis. */
  slis: Pick<HealthResults, 'text' | 'reset'>;
  /** The body of /stats/summary. */
  summary(onlyCpuAndMemory: boolean): Promise<unknown>;
}

/**
 * The read-only set of endpoints (contract: http-api §4, set R). Debug endpoints answer 405 as the real kubelet's
 * read-only port does.
 */
export function readOnlyHandler(deps: ReadOnlyDeps): Handler {
  return async (req, res, url) => {
    const path = url.pathname;
    if (path === '/pods' || path === '/pods/') {
      if (req.method !== 'GET') {
        res.setHeader('Allow', 'GET');
        return sendText(res, 405, '405: Method Not Allowed');
      }
      return sendJson(res, { kind: 'PodList', apiVersion: 'v1', metadata: {}, items: deps.pods().map(withoutType) });
    }
    if (path === '/healthz' || path.startsWith('/healthz/')) return deps.healthz(req, res, url);
    if (path === '/metrics/slis' && req.method === 'DELETE') {
      deps.slis.reset();
      return sendText(res, 200, 'metrics reset\n');
    }
    const metrics = textOf(deps, path);
    if (metrics !== undefined) {
      const text = await metrics();
      const open = takesOpenMetrics(req.headers.accept);
      res.writeHead(200, { 'Content-Type': open ? openMetricsContentType : 'text/plain; version=0.0.4; charset=utf-8' });
      res.end(open ? toOpenMetrics(text) : text);
      return;
    }
    if (path === '/stats/summary' || path === '/stats/summary/') {
      if (req.method !== 'GET' && req.method !== 'POST') {
        res.setHeader('Allow', 'GET, POST');
        return sendText(res, 405, '405: Method Not Allowed');
      }
      return sendJson(res, await deps.summary(url.searchParams.get('only_cpu_and_memory') === 'true'));
    }
    if (DEBUG_PATHS.some((p) => path.startsWith(p))) return sendText(res, 405, 'Debug endpoints are disabled.\n');
    return sendText(res, 404, '404 page not found\n');
  };
}

function textOf(deps: ReadOnlyDeps, path: string): (() => Promise<string>) | undefined {
  if (path === '/metrics') return deps.metrics;
  if (path === '/metrics/probes') return deps.probeMetrics;
  if (path === '/metrics/slis') return async () => deps.slis.text();
  if (path === '/metrics/cadvisor') return deps.cadvisorMetrics;
  return path === '/metrics/resource' ? deps.resourceMetrics : undefined;
}

const DEBUG_PATHS = [
  '/run/',
  '/exec/',
  '/attach/',
  '/portForward/',
  '/containerLogs/',
  '/runningpods/',
  '/debug/pprof',
  '/logs/',
  '/configz',
];

function withoutType({ apiVersion: _apiVersion, kind: _kind, ...pod }: Pod): Pod {
  return pod;
}
