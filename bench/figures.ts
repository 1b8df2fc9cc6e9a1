/** What one round of one candidate gave. Seconds, but for memory (MiB); undefined where it does not apply. */
export interface Figures {
  /** From exec to the first call that the runtime logged: found by the log of the agent. */
  healthy?: number;
  started50?: number;
  startedLast?: number;
  ready50: number;
  ready99?: number;
  readyLast: number;
  startCpu?: number;
  /** CPU seconds a minute while nothing happens. */
  idleCpu?: number;
  rss?: number;
  stop: number;
  /** Phases of a start, medians: creation to sandbox, to container, to its start, to Ready. */
  toSandbox?: number;
  toContainer?: number;
  toStart?: number;
  toReady?: number;
}

export const figureNames: { [K in keyof Required<Figures>]: string } = {
  healthy: 'exec to healthy (s)',
  started50: 'median container start (s)',
  startedLast: 'last container start (s)',
  ready50: 'median Ready (s)',
  ready99: '99th of 100 Ready (s)',
  readyLast: 'last Ready (s)',
  startCpu: 'CPU to start (s)',
  idleCpu: 'idle CPU (s a minute)',
  rss: 'resident memory (MiB)',
  stop: 'all stopped (s)',
  toSandbox: 'phase: pod to sandbox (s)',
  toContainer: 'phase: sandbox to container (s)',
  toStart: 'phase: container to its start (s)',
  toReady: 'phase: start to Ready (s)',
};

/** The value at a share of the sorted list: 0.5 is the median. NaN for an empty list. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** The median of each figure over the rounds of one candidate. */
export function medians(rounds: readonly Figures[]): Partial<Record<keyof Figures, number>> {
  const out: Partial<Record<keyof Figures, number>> = {};
  for (const key of Object.keys(figureNames) as (keyof Figures)[]) {
    const values = rounds.map((r) => r[key]).filter((v) => v !== undefined);
    if (values.length > 0) out[key] = quantile(values, 0.5);
  }
  return out;
}

/** A table with one column a candidate; `base` adds the ratio of the first candidate to it. */
export function table(results: ReadonlyMap<string, readonly Figures[]>, own: string, base: string | undefined): string {
  const names = [...results.keys()];
  const columns = new Map(names.map((n) => [n, medians(results.get(n) ?? [])]));
  const ratio = base === undefined ? [] : [`${own} / ${base}`];
  const lines = [`| | ${[...names, ...ratio].join(' | ')} |`, `| --- |${[...names, ...ratio].map(() => ' ---: |').join('')}`];
  for (const key of Object.keys(figureNames) as (keyof Figures)[]) {
    const cells = names.map((n) => show(columns.get(n)?.[key]));
    if (cells.every((c) => c === '')) continue;
    const a = columns.get(own)?.[key];
    const b = base === undefined ? undefined : columns.get(base)?.[key];
    const extra = base === undefined ? [] : [a === undefined || b === undefined ? '' : (a / b).toFixed(2)];
    lines.push(`| ${figureNames[key]} | ${[...cells, ...extra].join(' | ')} |`);
  }
  return lines.join('\n');
}

const show = (value: number | undefined) => (value === undefined ? '' : value.toFixed(value < 10 ? 2 : 1));
