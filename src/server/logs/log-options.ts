import { HttpError } from '../errors.ts';

export type LogStream = 'All' | 'Stdout' | 'Stderr';

/** PodLogOptions as the endpoint takes them (contract http-api §7). */
export interface LogOptions {
  follow: boolean;
  previous: boolean;
  timestamps: boolean;
  /** Nanoseconds since the epoch; older lines are left out. */
  since?: bigint;
  tailLines?: number;
  limitBytes?: number;
  stream: LogStream;
}

const undecodable = () => new HttpError(400, '{"message": "Unable to decode query."}');
const invalid = () => new HttpError(422, '{"message": "Invalid request."}');

/** Reads the query. Throws HttpError 400 or 422. `now` in wall-clock milliseconds. */
export function logOptions(query: URLSearchParams, now: number, splitStreams: boolean): LogOptions {
  const flag = (name: string) => {
    const value = query.get(name);
    return value !== null && value !== '0' && value.toLowerCase() !== 'false';
  };
  const legacyTail = query.get('tail') ?? '';
  const tailLines = legacyTail === 'all' ? undefined : whole(legacyTail === '' ? query.get('tailLines') : legacyTail);
  const limitBytes = whole(query.get('limitBytes'));
  const sinceSeconds = whole(query.get('sinceSeconds'));
  const sinceText = query.get('sinceTime');
  const sinceTime = sinceText === null ? undefined : nanosecondsOf(sinceText);
  if (sinceText !== null && sinceTime === undefined) throw undecodable();
  const stream = query.get('stream') ?? 'All';
  if ((tailLines ?? 0) < 0 || (limitBytes ?? 1) < 1 || (sinceSeconds ?? 1) < 1) throw invalid();
  if (sinceSeconds !== undefined && sinceTime !== undefined) throw invalid();
  if (!isStream(stream) || (splitStreams && stream !== 'All' && tailLines !== undefined)) throw invalid();
  if (stream !== 'All' && !splitStreams) {
    const gate = 'Please enable PodLogsQuerySplitStreams feature gate in kubelet';
    throw new HttpError(400, `unable to return the given log stream: "${stream}". ${gate}`);
  }
  const since =
    sinceTime ?? (sinceSeconds === undefined ? undefined : BigInt(Math.trunc(now)) * 1_000_000n - BigInt(sinceSeconds) * 1_000_000_000n);
  return {
    follow: flag('follow'),
    previous: flag('previous'),
    timestamps: flag('timestamps'),
    stream,
    ...(since === undefined ? {} : { since }),
    ...(tailLines === undefined ? {} : { tailLines }),
    ...(limitBytes === undefined ? {} : { limitBytes }),
  };
}

function isStream(text: string): text is LogStream {
  return text === 'All' || text === 'Stdout' || text === 'Stderr';
}

function whole(text: string | null): number | undefined {
  if (text === null) return undefined;
  if (!/^[+-]?[0-9]{1,18}$/.test(text)) throw undecodable();
  return Number(text);
}

const TIME = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:\d{2})$/;

/** RFC 3339 with up to nine digits as nanoseconds since the epoch; undefined for other text. */
export function nanosecondsOf(text: string): bigint | undefined {
  const parts = TIME.exec(text);
  if (parts === null) return undefined;
  const ms = Date.parse(`${parts[1]}${parts[3]}`);
  return Number.isNaN(ms) ? undefined : BigInt(ms) * 1_000_000n + BigInt((parts[2] ?? '').padEnd(9, '0'));
}
