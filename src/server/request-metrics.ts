import type { Metrics } from '../observe/metrics.ts';
import type { Handler } from './http.ts';

const LABELS = ['method', 'path', 'server_type', 'long_running'];

/** Contract http-api §11. */
const knownPaths: ReadonlySet<string> = new Set([
  'healthz',
  'pods',
  'stats',
  'metrics',
  'metrics/cadvisor',
  'metrics/probes',
  'metrics/resource',
  'run',
  'exec',
  'attach',
  'portForward',
  'containerLogs',
  'configz',
  'runningpods',
  'checkpoint',
  'logs',
  'debug',
  'flagz',
  'statusz',
  'allocatedPods',
  'pprof',
]);
const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE']);
const longRunning: ReadonlySet<string> = new Set(['exec', 'attach', 'portforward', 'debug']);

/** The labels of one request: nothing in them is of the sender's choice. */
export function requestLabels(method: string, segments: readonly string[], serverType: 'readonly' | 'readwrite'): Record<string, string> {
  const [first = '', second] = segments;
  const two = first === 'metrics' && second !== undefined && second !== '' ? `${first}/${second}` : first;
  return {
    method: methods.has(method) ? method : 'other',
    path: knownPaths.has(two) ? two : 'other',
    server_type: serverType,
    long_running: String(longRunning.has(first)),
  };
}

/** kubelet_http_requests_total, kubelet_http_requests_duration_seconds, kubelet_http_inflight_requests. */
export class RequestMetrics {
  readonly #metrics: Metrics;
  readonly #seconds: () => number;
  readonly #serverType: 'readonly' | 'readwrite';
  readonly #inflight = new Map<string, number>();

  /** `seconds`: of a clock that only goes forward. */
  constructor(metrics: Metrics, seconds: () => number, serverType: 'readonly' | 'readwrite') {
    this.#metrics = metrics;
    this.#seconds = seconds;
    this.#serverType = serverType;
  }

  /** Counts a request; the returned function is called at its end. */
  begin(method: string, segments: readonly string[]): () => void {
    const labels = requestLabels(method, segments, this.#serverType);
    const start = this.#seconds();
    this.#metrics.counter('kubelet_http_requests_total', '[ALPHA] Number of the http requests received', LABELS).inc(labels);
    this.#change(labels, 1);
    return () => {
      this.#change(labels, -1);
      const help = '[ALPHA] Duration in seconds to serve http requests';
      this.#metrics.histogram('kubelet_http_requests_duration_seconds', help, LABELS).observe(this.#seconds() - start, labels);
    };
  }

  #change(labels: Record<string, string>, by: number): void {
    const key = `${labels['method']} ${labels['path']}`;
    const count = (this.#inflight.get(key) ?? 0) + by;
    this.#inflight.set(key, count);
    this.#metrics.gauge('kubelet_http_inflight_requests', '[ALPHA] Number of the inflight http requests', LABELS).set(count, labels);
  }
}

/** A handler whose requests are counted. */
export function counted(handle: Handler, metrics: RequestMetrics): Handler {
  return async (req, res, url) => {
    const done = metrics.begin(req.method ?? '', url.pathname.slice(1).split('/'));
    try {
      await handle(req, res, url);
    } finally {
      done();
    }
  };
}
