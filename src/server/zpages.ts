import type { IncomingMessage, ServerResponse } from 'node:http';
import { stringify } from 'yaml';
import { timeFromMs } from '../api/time.ts';
import { HttpError } from './errors.ts';
import { onlyMethods } from './http.ts';

/** Answers /statusz and /flagz (contract http-api §4): text for people, or a versioned object where one is asked for. */

export interface StatuszFacts {
  /** Wall-clock milliseconds. */
  startTimeMs: number;
  nowMs: number;
  /** As `1.37.2`. */
  version: string;
  /** What runs the program, as `node v24.9.0`. */
  engine: string;
  paths: readonly string[];
}

const COMPONENT = 'kubelet';
const GROUP = 'config.k8s.io';

const header = (page: string) => `
${COMPONENT} ${page}
Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.

`;

export function statusz({ startTimeMs, nowMs, version, engine, paths }: StatuszFacts, req: IncomingMessage, res: ServerResponse): void {
  const started = timeFromMs(startTimeMs);
  const uptimeSeconds = Math.max(0, Math.trunc((nowMs - startTimeMs) / 1000));
  const listed = [...new Set(paths)].toSorted();
  const text = `Started: ${started}\nUp: ${uptimeSeconds} s\nGo version: ${engine}\nBinary version: ${version}\nPaths: ${listed.join(' ')}\n`;
  const body = { startTime: started, uptimeSeconds, goVersion: engine, binaryVersion: version, paths: listed };
  answer('Statusz', header('statusz') + text, body, req, res);
}

/** `flags`: name and effective value. */
export function flagz(flags: ReadonlyMap<string, string>, req: IncomingMessage, res: ServerResponse): void {
  const sorted = [...flags].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const text = sorted.map(([name, value]) => `${name}=${value}\n`).join('');
  answer('Flagz', header('flagz') + text, { flags: Object.fromEntries(sorted) }, req, res);
}

type Kind = 'Statusz' | 'Flagz';

function answer(kind: Kind, text: string, body: Record<string, unknown>, req: IncomingMessage, res: ServerResponse): void {
  onlyMethods(req, ['GET']);
  const wanted = negotiate(kind, req.headers.accept);
  if (wanted === undefined) {
    throw new HttpError(
      406,
      `only the following media types are accepted: text/plain, application/json and application/yaml with ;g=${GROUP};v=v1beta1;as=${kind}\n`,
    );
  }
  if (wanted.format === 'text') {
    res.writeHead(200, { 'Content-Type': 'text/plain; charset=utf-8', 'X-Content-Type-Options': 'nosniff' });
    res.end(text);
    return;
  }
  const object = { kind, apiVersion: `${GROUP}/${wanted.version}`, metadata: { name: COMPONENT }, ...body };
  if (wanted.version === 'v1alpha1') {
    res.setHeader('Warning', `299 - "This version of the ${kind.toLowerCase()} endpoint is deprecated. Please use a newer version."`);
  }
  res.writeHead(200, { 'Content-Type': `application/${wanted.format}` });
  res.end(wanted.format === 'json' ? JSON.stringify(object) : stringify(object));
}

type Wanted = { format: 'text' } | { format: 'json' | 'yaml'; version: 'v1alpha1' | 'v1beta1' };

/** The first acceptable media type of the list; undefined when there is none. */
export function negotiate(kind: Kind, accept: string | undefined): Wanted | undefined {
  if (accept === undefined || accept.trim() === '') return { format: 'text' };
  for (const part of accept.split(',')) {
    const [type = '', ...parameters] = part.split(';').map((s) => s.trim());
    if (['text/plain', 'text/*', '*/*'].includes(type)) return { format: 'text' };
    const format = type === 'application/json' ? 'json' : type === 'application/yaml' ? 'yaml' : undefined;
    const of = (name: string) => parameters.find((p) => p.startsWith(`${name}=`))?.slice(name.length + 1);
    const version = of('v');
    if (format === undefined || of('as') !== kind || of('g') !== GROUP) continue;
    if (version === 'v1alpha1' || version === 'v1beta1') return { format, version };
  }
  return undefined;
}
