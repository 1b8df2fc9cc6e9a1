import { defaultBuckets } from '../observe/metrics.ts';

export interface ProbeLabels {
  readonly probe_type: 'Liveness' | 'Readiness' | 'Startup';
  readonly container: string;
  readonly pod: string;
  readonly namespace: string;
  readonly pod_uid: string;
}

/** prober_probe_total and prober_probe_duration_seconds (contract: metrics.md §3). One labels object a worker: it is the key. */
export interface ProbeMetrics {
  /** `seconds` is counted for successes only. */
  probed(labels: ProbeLabels, successful: boolean, seconds: number): void;
  /** The worker is over: its series go. */
  removed(labels: ProbeLabels): void;
}

export const noProbeMetrics: ProbeMetrics = { probed() {}, removed() {} };

interface Series {
  successful: number;
  failed: number;
  /** Successes by bucket, the last one above all bounds. */
  buckets: number[];
  seconds: number;
}

const TOTAL = 'prober_probe_total';
const DURATION = 'prober_probe_duration_seconds';

/**
 * The metrics of /metrics/probes. Plain counters, put into words only when somebody asks: with a thousand probes a
 * second a registry that finds each series by its labels costs more than the probes' own code.
 */
export class ProbeCounts implements ProbeMetrics {
  readonly #series = new Map<ProbeLabels, Series>();

  probed(labels: ProbeLabels, successful: boolean, seconds: number): void {
    let series = this.#series.get(labels);
    if (series === undefined) {
      series = { successful: 0, failed: 0, buckets: Array.from({ length: defaultBuckets.length + 1 }, () => 0), seconds: 0 };
      this.#series.set(labels, series);
    }
    if (!successful) {
      series.failed += 1;
      return;
    }
    series.successful += 1;
    series.seconds += seconds;
    const at = defaultBuckets.findIndex((bound) => seconds <= bound);
    const bucket = at < 0 ? defaultBuckets.length : at;
    series.buckets[bucket] = (series.buckets[bucket] ?? 0) + 1;
  }

  removed(labels: ProbeLabels): void {
    this.#series.delete(labels);
  }

  /** The exposition format, version 0.0.4. */
  text(): string {
    const totals: string[] = [];
    const durations = new Map<string, Series>();
    for (const [{ pod_uid, ...labels }, series] of this.#series) {
      const shared = inBraces(labels);
      for (const result of ['successful', 'failed'] as const) {
        if (series[result] > 0) totals.push(`${TOTAL}{${shared},${inBraces({ pod_uid, result })}} ${series[result]}`);
      }
      const known = durations.get(shared);
      if (series.successful > 0) durations.set(shared, known === undefined ? series : sum(known, series));
    }
    return [
      `# HELP ${TOTAL} [BETA] Cumulative number of a liveness, readiness or startup probe for a container by result.`,
      `# TYPE ${TOTAL} counter`,
      ...totals,
      `# HELP ${DURATION} [ALPHA] Duration in seconds for a probe response.`,
      `# TYPE ${DURATION} histogram`,
      ...[...durations].flatMap(([labels, series]) => histogram(labels, series)),
      '',
    ].join('\n');
  }
}

function histogram(labels: string, { buckets, seconds, successful }: Series): string[] {
  let count = 0;
  const lines = [...defaultBuckets, '+Inf'].map((bound, i) => {
    count += buckets[i] ?? 0;
    return `${DURATION}_bucket{${labels},le="${bound}"} ${count}`;
  });
  return [...lines, `${DURATION}_sum{${labels}} ${seconds}`, `${DURATION}_count{${labels}} ${successful}`];
}

/** Two workers of one name: a pod that was made anew. */
function sum(a: Series, b: Series): Series {
  const buckets = a.buckets.map((n, i) => n + (b.buckets[i] ?? 0));
  return { successful: a.successful + b.successful, failed: a.failed + b.failed, seconds: a.seconds + b.seconds, buckets };
}

function inBraces(labels: Readonly<Record<string, string>>): string {
  const escaped = (value: string) => value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(',');
}
