export const openMetricsContentType = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

/** Whether a scraper takes OpenMetrics, by its Accept header; not when it says `q=0`. */
export function takesOpenMetrics(accept: string | undefined): boolean {
  return (accept ?? '').split(',').some((part) => /^\s*application\/openmetrics-text\b/.test(part) && !/;\s*q=0(\.0*)?\s*(;|$)/.test(part));
}

/**
 * The text format 0.0.4 as OpenMetrics 1.0: names of counters end in `_total` and their families do not, times are seconds,
 * and the end is marked. The text is one of our own.
 */
export function toOpenMetrics(text: string): string {
  let counter: string | undefined;
  const lines = text.split('\n').filter((line) => line !== '');
  const counters = new Set(lines.flatMap((line) => /^# TYPE (\S+) counter$/.exec(line)?.[1] ?? []));
  const family = (name: string) => (counters.has(name) ? name.replace(/_total$/, '') : name);
  const out = lines.map((line) => {
    const comment = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line);
    if (comment !== null) {
      const [, word, name = '', rest] = comment;
      counter = counters.has(name) ? name : undefined;
      return `# ${word} ${family(name)} ${rest}`;
    }
    const sample = /^([^{ ]+)(\{.*\})? (\S+)(?: (-?\d+))?$/.exec(line);
    if (sample === null) return line;
    const [, name = '', labels = '', value, at] = sample;
    const shown = name === counter ? `${family(name)}_total` : name;
    const bounds = labels.replace(/(?<=[{,])le="(-?\d+)"/, 'le="$1.0"');
    return `${shown}${bounds} ${value}${at === undefined ? '' : ` ${Number(at) / 1000}`}`;
  });
  return `${[...out, '# EOF'].join('\n')}\n`;
}
