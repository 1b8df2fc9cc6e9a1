import { HttpError } from '../errors.ts';

/** Reads and checks a query of the node's logs (contract http-api §8). Pure. */

export interface NodeLogQuery {
  services: readonly string[];
  /** Segments below the log directory. */
  file: readonly string[] | undefined;
  /** Wall-clock milliseconds. */
  sinceMs?: number;
  untilMs?: number;
  tailLines?: number;
  /** 0 is this boot, -1 the one before. */
  boot?: number;
  pattern?: string;
}

const MAX_SERVICES = 4;
const MAX_SERVICE_LENGTH = 256;
const MAX_TAIL_LINES = 100_000;
const MAX_PATTERN_LENGTH = 4_096;
const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;

/** Undefined when there is no query at all. Throws HttpError 400 for what cannot be read, 406 for what makes no sense. */
export function readNodeLogQuery(parameters: URLSearchParams): NodeLogQuery | undefined {
  const queries = parameters.getAll('query');
  const bad = (field: string, why: string) => new HttpError(400, `${field}: Invalid value: ${why}\n`);
  const value = (name: string) => {
    const text = parameters.get(name);
    return text === null || text === '' ? undefined : text;
  };
  const time = (name: string) => {
    const text = value(name);
    if (text === undefined) return undefined;
    const ms = rfc3339.test(text) ? Date.parse(text) : Number.NaN;
    if (Number.isNaN(ms)) throw bad(name, 'invalid time format');
    return ms;
  };
  const integer = (name: string) => {
    const text = value(name);
    if (text === undefined) return undefined;
    if (!/^[+-]?\d{1,9}$/.test(text)) throw bad(name, 'it is not a whole number');
    return Number(text);
  };
  const files = queries.filter((q) => /[/\\]/.test(q));
  const services = queries.filter((q) => !/[/\\]/.test(q) && q.trim() !== '');
  if (queries.length > 0 && files.length === 0 && services.length === 0) throw bad('query', 'may not be empty');
  const options = {
    sinceMs: time('sinceTime'),
    untilMs: time('untilTime'),
    tailLines: integer('tailLines'),
    boot: integer('boot'),
    pattern: value('pattern'),
  };
  const given = Object.fromEntries(Object.entries(options).filter(([, v]) => v !== undefined)) as Omit<NodeLogQuery, 'services' | 'file'>;
  const hasOptions = Object.keys(given).length > 0;
  if (queries.length === 0 && !hasOptions) return undefined;
  const query: NodeLogQuery = { services, file: files[0] === undefined ? undefined : segmentsOf(files[0]), ...given };
  check(query, files, hasOptions);
  return query;
}

function check(
  { services, sinceMs, untilMs, tailLines, boot, pattern }: NodeLogQuery,
  files: readonly string[],
  hasOptions: boolean,
): void {
  const refuse = (field: string, why: string) => {
    throw new HttpError(406, `${field}: Invalid value: ${why}\n`);
  };
  for (const service of services) {
    if (service.length > MAX_SERVICE_LENGTH) refuse('query', `length must be less than ${MAX_SERVICE_LENGTH}`);
    if (!/^[a-zA-Z0-9\-_.:@]+$/.test(service)) refuse('query', 'input contains unsupported characters');
  }
  if (services.length > MAX_SERVICES) refuse('query', `must have at most ${MAX_SERVICES} items`);
  if (files.length === 0 && services.length === 0) refuse('query', 'cannot be empty with options');
  if (files.length > 0 && services.length > 0) refuse('query', 'cannot specify a file and service');
  if (files.length > 1) refuse('query', 'cannot specify more than one file');
  if (files.length === 1 && hasOptions) refuse('query', 'cannot specify file with options');
  if (sinceMs !== undefined && untilMs !== undefined && sinceMs > untilMs) refuse('untilTime', 'must be after `sinceTime`');
  if (boot !== undefined && boot > 0) refuse('boot', 'must be less than 1');
  if (tailLines !== undefined && (tailLines < 0 || tailLines > MAX_TAIL_LINES)) {
    refuse('tailLines', `must be between 0 and ${MAX_TAIL_LINES}, inclusive`);
  }
  if (pattern !== undefined && !isPattern(pattern)) refuse('pattern', 'it is not a regular expression');
}

/** Only its form is looked at: journalctl does the matching, in a process of its own. */
function isPattern(pattern: string): boolean {
  if (pattern.length > MAX_PATTERN_LENGTH || pattern.includes('\0')) return false;
  try {
    new RegExp(pattern.replace(/^\(\?[a-zA-Z]+\)/, '').replaceAll('(?P<', '(?<'));
    return true;
  } catch {
    return false;
  }
}

/** A file's path below the log directory. Throws HttpError 406 for one that is no plain path. */
function segmentsOf(path: string): string[] {
  const segments = path.split('/').filter((s) => s !== '' && s !== '.');
  if (segments.length === 0 || segments.some((s) => s === '..' || s.includes('\\') || s.includes('\0'))) {
    throw new HttpError(406, 'query: Invalid value: it is not a path below the log directory\n');
  }
  return segments;
}

/** What journalctl is told; every value stands behind its own option's equal sign. */
export function journalArguments({ sinceMs, untilMs, tailLines, boot, pattern }: NodeLogQuery, units: readonly string[]): string[] {
  return [
    '--utc',
    '--no-pager',
    '--output=short-precise',
    ...(sinceMs === undefined ? [] : [`--since=${journalTime(sinceMs)}`]),
    ...(untilMs === undefined ? [] : [`--until=${journalTime(untilMs)}`]),
    ...(tailLines === undefined ? [] : ['--pager-end', `--lines=${tailLines}`]),
    ...units.map((unit) => `--unit=${unit}`),
    ...(pattern === undefined ? [] : [`--grep=${pattern}`]),
    ...(boot === undefined ? [] : [`--boot=${boot}`]),
  ];
}

/** journalctl reads times in the zone of `--utc` only where they say so. */
function journalTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
