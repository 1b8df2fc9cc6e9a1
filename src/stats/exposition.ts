/** One sample of a Prometheus metric. `atMs` is the wall-clock time of the measurement. */
export interface Sample {
  labels?: Readonly<Record<string, string>>;
  value: number;
  atMs?: number;
}

export interface MetricFamily {
  name: string;
  help: string;
  type: 'counter' | 'gauge';
  samples: readonly Sample[];
}

/** The text of the families that have samples (exposition format 0.0.4). */
export function exposition(families: readonly MetricFamily[]): string {
  let text = '';
  for (const { name, help, type, samples } of families) {
    if (samples.length === 0) continue;
    text += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
    for (const { labels = {}, value, atMs } of samples) {
      const pairs = Object.entries(labels).map(([key, v]) => `${key}="${escaped(v)}"`);
      text += `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}${atMs === undefined ? '' : ` ${Math.trunc(atMs)}`}\n`;
    }
  }
  return text;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
