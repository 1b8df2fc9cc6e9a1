/** A metric as a scraper reads it. */
export interface ReadFamily {
  name: string;
  type: string;
  samples: { name: string; labels: Record<string, string>; value: number; atMs: number | undefined }[];
}

const nameForm = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const sampleForm = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)(?: (-?\d+))?$/;
const labelForm = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/y;

/**
 * Reads the text format 0.0.4 as strictly as Prometheus does: throws on a line of another form, a family that comes twice,
 * a sample outside its family, and a series that comes twice.
 */
export function readPromText(text: string): Map<string, ReadFamily> {
  const families = new Map<string, ReadFamily>();
  const series = new Set<string>();
  let current: ReadFamily | undefined;
  if (text !== '' && !text.endsWith('\n')) throw new Error('the last line does not end');
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('# HELP ')) continue;
    const type = /^# TYPE (\S+) (counter|gauge|histogram|summary|untyped)$/.exec(line);
    if (type !== null) {
      const [, name = '', kind = ''] = type;
      if (!nameForm.test(name) || families.has(name)) throw new Error(`the family ${name} comes twice, or is no name`);
      current = { name, type: kind, samples: [] };
      families.set(name, current);
      continue;
    }
    const found = sampleForm.exec(line);
    if (found === null) throw new Error(`a line of another form: ${line}`);
    const [, name = '', labelText, value = '', at] = found;
    const suffixes = current?.type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
    if (current === undefined || !suffixes.some((suffix) => name === current?.name + suffix))
      throw new Error(`${name} is outside its family`);
    const labels = readLabels(labelText ?? '', line);
    const key = `${name} ${JSON.stringify(Object.entries(labels).sort())}`;
    if (series.has(key)) throw new Error(`the series ${key} comes twice`);
    series.add(key);
    const number = value === '+Inf' ? Number.POSITIVE_INFINITY : value === 'Nan' || value === 'NaN' ? Number.NaN : Number(value);
    if (Number.isNaN(number) && !/^nan$/i.test(value)) throw new Error(`${line}: the value is no number`);
    current.samples.push({ name, labels, value: number, atMs: at === undefined ? undefined : Number(at) });
  }
  return families;
}

function readLabels(text: string, line: string): Record<string, string> {
  const labels: Record<string, string> = {};
  labelForm.lastIndex = 0;
  while (labelForm.lastIndex < text.length) {
    const at = labelForm.lastIndex;
    const found = labelForm.exec(text);
    if (found === null || found.index !== at) throw new Error(`labels of another form: ${line}`);
    const [, name = '', value = ''] = found;
    if (name in labels) throw new Error(`the label ${name} comes twice: ${line}`);
    labels[name] = value.replace(/\\(.)/g, (_, c: string) => (c === 'n' ? '\n' : c));
  }
  return labels;
}
