import { exposition } from '../stats/exposition.ts';

/** Results of the health checks, for /metrics/slis (contract metrics.md §4). */
export class HealthResults {
  readonly #checks = new Map<string, { healthy: boolean; success: number; error: number }>();

  observe(name: string, healthy: boolean): void {
    const known = this.#checks.get(name) ?? { healthy, success: 0, error: 0 };
    known.healthy = healthy;
    known[healthy ? 'success' : 'error']++;
    this.#checks.set(name, known);
  }

  reset(): void {
    this.#checks.clear();
  }

  text(): string {
    const all = [...this.#checks];
    return exposition([
      {
        name: 'kubernetes_healthcheck',
        help: '[STABLE] This metric records the result of a single healthcheck.',
        type: 'gauge',
        samples: all.map(([name, { healthy }]) => ({ labels: { name, type: 'healthz' }, value: healthy ? 1 : 0 })),
      },
      {
        name: 'kubernetes_healthchecks_total',
        help: '[STABLE] This metric records the results of all healthcheck.',
        type: 'counter',
        samples: all.flatMap(([name, counts]) =>
          (['success', 'error'] as const).flatMap((status) =>
            counts[status] === 0 ? [] : [{ labels: { name, status, type: 'healthz' }, value: counts[status] }],
          ),
        ),
      },
    ]);
  }
}
