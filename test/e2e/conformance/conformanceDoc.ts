import { type AreaRow, cells, TABLE_HEAD } from './areaTable.ts';
import { reasonsFor } from './notBuilt.ts';

const INTRO = `# Conformance

\`npm run conformance [-- --area A,B | --focus REGEX] [--kubelet PATH]\` runs the public node e2e suite of Kubernetes v1.37.2, unmodified, against
\`bin/kubelet-ts\`. An area is a file of the suite; the specs that count are those that the Go kubelet passes on the reference host
(\`test/e2e/conformance/specs.tsv\`). Each area's row and its faults are those of its last run, written by the command itself; no spec is retried.
`;
const FAULTS_TITLE = '## Did not pass';

/**
 * The text of docs/conformance.md: what `old` holds of areas that did not run now, and the new rows. `when` tells date and
 * commit.
 */
export function conformanceDoc(old: string, rows: readonly AreaRow[], when: string): string {
  const now = new Set(rows.map((r) => r.area));
  const lines = new Map<string, string>();
  const faults = new Map<string, string[]>();
  for (const line of old.split('\n')) {
    const row = /^\| ([a-z0-9_]+) \|/.exec(line)?.[1];
    const fault = /^- ([a-z0-9_]+): /.exec(line)?.[1];
    if (row !== undefined && row !== 'area' && !now.has(row)) lines.set(row, line);
    if (fault !== undefined && !now.has(fault)) faults.set(fault, [...(faults.get(fault) ?? []), line]);
  }
  for (const row of rows) {
    lines.set(row.area, `| ${[...cells(row), when].join(' | ')} |`);
    faults.set(
      row.area,
      row.faults.map((f) => `- ${row.area}: ${f.replaceAll('\n', ' ')}`),
    );
  }
  const head = `| ${[...TABLE_HEAD, 'last run'].join(' | ')} |\n| --- |${' ---: |'.repeat(TABLE_HEAD.length - 1)} --- |`;
  const sorted = <T>(map: Map<string, T>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);
  const faultLines = sorted(faults).flat();
  const table = `${INTRO}\n${head}\n${sorted(lines).join('\n')}\n`;
  if (faultLines.length === 0) return table;
  const faulty = [...faults].flatMap(([area, of]) => (of.length > 0 ? [area] : [])).sort();
  return `${table}\n${FAULTS_TITLE}\n\n${reasonsFor(faulty).join('\n')}\n\n${faultLines.join('\n')}\n`;
}
