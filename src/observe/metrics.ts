import { Counter, Gauge, Histogram, Registry } from 'prom-client';

export type Labels = Readonly<Record<string, string | number>>;

export interface CounterMetric {
  inc(labels?: Labels, by?: number): void;
  remove(labels: Labels): void;
}
export interface GaugeMetric {
  set(value: number, labels?: Labels): void;
  /** Forgets all series. */
  reset(): void;
  remove(labels: Labels): void;
}
export interface HistogramMetric {
  observe(value: number, labels?: Labels): void;
  remove(labels: Labels): void;
}

/** A metrics registry. Asking twice for one name gives the same metric; a room declares what it needs where it needs it. */
export interface Metrics {
  counter(name: string, help: string, labels?: readonly string[]): CounterMetric;
  gauge(name: string, help: string, labels?: readonly string[]): GaugeMetric;
  /** `buckets` are upper bounds; the default is Prometheus' own. */
  histogram(name: string, help: string, labels?: readonly string[], buckets?: readonly number[]): HistogramMetric;
  /** Called before each `text()`, for values that are read and not counted. */
  collect(fn: () => void | Promise<void>): void;
  /** The exposition format, version 0.0.4. */
  text(): Promise<string>;
}

export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8';

/** Prometheus' default upper bounds. */
export const defaultBuckets: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** `count` bounds from `start`, each `factor` times the one before. */
export function exponentialBuckets(start: number, factor: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => Number((start * factor ** i).toPrecision(12)));
}

class PromMetrics implements Metrics {
  readonly #registry = new Registry();
  readonly #known = new Map<string, { kind: string; metric: unknown }>();
  readonly #collectors: (() => void | Promise<void>)[] = [];

  counter(name: string, help: string, labels: readonly string[] = []): CounterMetric {
    return this.#once('counter', name, () => {
      const counter = new Counter({ name, help, labelNames: [...labels], registers: [this.#registry] });
      return {
        inc: (values: Labels = {}, by = 1) => counter.inc(values, by),
        remove: (values: Labels) => counter.remove(values),
      };
    });
  }

  gauge(name: string, help: string, labels: readonly string[] = []): GaugeMetric {
    return this.#once('gauge', name, () => {
      const gauge = new Gauge({ name, help, labelNames: [...labels], registers: [this.#registry] });
      return {
        set: (value: number, values: Labels = {}) => gauge.set(values, value),
        reset: () => gauge.reset(),
        remove: (values: Labels) => gauge.remove(values),
      };
    });
  }

  histogram(name: string, help: string, labels: readonly string[] = [], buckets: readonly number[] = defaultBuckets): HistogramMetric {
    return this.#once('histogram', name, () => {
      const histogram = new Histogram({ name, help, labelNames: [...labels], buckets: [...buckets], registers: [this.#registry] });
      return {
        observe: (value: number, values: Labels = {}) => histogram.observe(values, value),
        remove: (values: Labels) => histogram.remove(values),
      };
    });
  }

  collect(fn: () => void | Promise<void>): void {
    this.#collectors.push(fn);
  }

  async text(): Promise<string> {
    for (const fn of this.#collectors) await fn();
    return this.#registry.metrics();
  }

  #once<T>(kind: string, name: string, create: () => T): T {
    const known = this.#known.get(name);
    if (known !== undefined) {
      if (known.kind !== kind) throw new Error(`the metric ${name} is a ${known.kind} already and cannot be a ${kind}`);
      return known.metric as T;
    }
    const metric = create();
    this.#known.set(name, { kind, metric });
    return metric;
  }
}

/** An empty registry. */
export function createMetrics(): Metrics {
  return new PromMetrics();
}
