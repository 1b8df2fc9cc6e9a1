import type { SpecResult } from './results.ts';
import type { Spec } from './specs.ts';

/** One row: an area's specs that were asked for, and how they ended. */
export interface AreaRow {
  area: string;
  passed: number;
  failed: number;
  skipped: number;
  /** Asked for, and not in the report. */
  missing: number;
  /** How many of them the Go kubelet passes. */
  go: number;
  seconds: number;
  /** `name: first line of the reason` of each that did not pass. */
  faults: string[];
}

/** Counts by area; the areas in alphabetical order. A spec that did not run counts as a fault, as does a skip where Go's kubelet passes. */
export function areaRows(wanted: readonly Spec[], results: readonly SpecResult[]): AreaRow[] {
  const byName = new Map(results.map((r) => [r.name, r]));
  const rows = new Map<string, AreaRow>();
  for (const spec of wanted) {
    const row = rows.get(spec.area) ?? { area: spec.area, passed: 0, failed: 0, skipped: 0, missing: 0, go: 0, seconds: 0, faults: [] };
    rows.set(spec.area, row);
    if (spec.go === 'pass') row.go += 1;
    const result = byName.get(spec.name);
    row.seconds += result?.seconds ?? 0;
    if (result === undefined) row.missing += 1;
    else row[result.state] += 1;
    if (result?.state === 'passed' || (result?.state === 'skipped' && spec.go !== 'pass')) continue;
    row.faults.push(`${spec.name}: ${result === undefined ? 'did not run' : firstLine(result)}`);
  }
  return [...rows.values()].sort((a, b) => (a.area < b.area ? -1 : 1));
}

function firstLine(result: SpecResult): string {
  const line = result.message.split('\n').find((l) => l.trim() !== '') ?? 'no message';
  return `${result.state === 'skipped' ? 'skipped, ' : ''}${line.trim().slice(0, 300)}`;
}

export const TABLE_HEAD = ['area', 'specs', 'passed', 'failed', 'skipped', 'not run', 'Go kubelet passes'] as const;

export function cells(row: AreaRow): (string | number)[] {
  const { area, passed, failed, skipped, missing, go } = row;
  return [area, passed + failed + skipped + missing, passed, failed, skipped, missing, go];
}

/** The rows and their sum, as columns of text. */
export function textTable(rows: readonly AreaRow[]): string {
  const sum = (pick: (row: AreaRow) => number) => rows.reduce((n, row) => n + pick(row), 0);
  const total: AreaRow = {
    area: 'all',
    passed: sum((r) => r.passed),
    failed: sum((r) => r.failed),
    skipped: sum((r) => r.skipped),
    missing: sum((r) => r.missing),
    go: sum((r) => r.go),
    seconds: sum((r) => r.seconds),
    faults: [],
  };
  const lines = [TABLE_HEAD, ...rows.map(cells), ...(rows.length > 1 ? [cells(total)] : [])].map((line) => line.map(String));
  const widths = TABLE_HEAD.map((_, i) => Math.max(...lines.map((l) => l[i]?.length ?? 0)));
  return lines.map((l) => l.map((c, i) => (i === 0 ? c.padEnd(widths[i] ?? 0) : c.padStart(widths[i] ?? 0))).join('  ')).join('\n');
}
