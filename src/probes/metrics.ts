import type { Metrics } from '../observe/metrics.ts';

export interface ProbeLabels {
  probe_type: 'Liveness' | 'Readiness' | 'Startup';
  container: string;
  pod: string;
  namespace: string;
  pod_uid: string;
}

/** prober_probe_total and prober_probe_duration_seconds (contract: metrics.md §3). */
export interface ProbeMetrics {
  /** `seconds` is counted for successes only. */
  probed(labels: ProbeLabels, successful: boolean, seconds: number): void;
  /** The worker is over: its series go. */
  removed(labels: ProbeLabels): void;
}

export const noProbeMetrics: ProbeMetrics = { probed() {}, removed() {} };

/** The metrics of /metrics/probes on a registry of their own. */
export function createProbeMetrics(metrics: Metrics): ProbeMetrics {
  const names = ['probe_type', 'container', 'pod', 'namespace'];
  const help = '[BETA] Cumulative number of a liveness, readiness or startup probe for a container by result.';
  const total = metrics.counter('prober_probe_total', help, ['probe_type', 'result', 'container', 'pod', 'namespace', 'pod_uid']);
  const duration = metrics.histogram('prober_probe_duration_seconds', '[ALPHA] Duration in seconds for a probe response.', names);
  const withoutUid = ({ probe_type, container, pod, namespace }: ProbeLabels) => ({ probe_type, container, pod, namespace });
  return {
    probed(labels, successful, seconds) {
      total.inc({ ...labels, result: successful ? 'successful' : 'failed' });
      if (successful) duration.observe(seconds, withoutUid(labels));
    },
    removed(labels) {
      for (const result of ['successful', 'failed', 'unknown']) total.remove({ ...labels, result });
      duration.remove(withoutUid(labels));
    },
  };
}
