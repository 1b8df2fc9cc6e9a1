import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGzip } from 'node:zlib';
import type { Clock } from '../../host/clock.ts';
import { HttpError } from '../errors.ts';
import { onlyMethods } from '../http.ts';
import { journalArguments, type NodeLogQuery } from './node-log-query.ts';
import { openBelow } from './open-below.ts';

export interface NodeLogDeps {
  root: string;
  clock: Pick<Clock, 'after'>;
  /** The program, found by PATH. */
  journalctl?: string;
}

/** All of one answer. */
const TIMEOUT_MS = 30_000;
const MAX_UNITS_BYTES = 4 << 20;

/** Answers a query of the node's logs: from the journal, or from the files that a service has there. */
export async function answerNodeLogQuery(deps: NodeLogDeps, query: NodeLogQuery, req: IncomingMessage, res: ServerResponse): Promise<void> {
  onlyMethods(req, ['GET', 'POST']);
  const only = query.file === undefined ? undefined : await fileOf(deps.root, query.file);
  const gone = new AbortController();
  const timer = deps.clock.after(TIMEOUT_MS, () => gone.abort());
  res.once('close', () => gone.abort());
  res.setHeader('Content-Type', 'text/plain;charset=UTF-8');
  const zip = req.headers['accept-encoding'] === 'gzip' ? createGzip({ level: constants.Z_BEST_SPEED }) : undefined;
  if (zip !== undefined) res.setHeader('Content-Encoding', 'gzip');
  const sent = zip === undefined ? Promise.resolve() : pipeline(zip, res);
  sent.catch(() => {});
  const out: Writable = zip ?? res;
  try {
    if (only !== undefined) await copy(only, out);
    else await services(deps, query, out, gone.signal);
    out.end();
    await sent;
  } finally {
    timer.cancel();
    await only?.close();
  }
}

async function services(deps: NodeLogDeps, query: NodeLogQuery, out: Writable, signal: AbortSignal): Promise<void> {
  const journalctl = deps.journalctl ?? 'journalctl';
  const units = await unitsOf(journalctl, signal);
  const inJournal = query.services.filter((s) => units.has(`${s}.service`) || units.has(s));
  const inFiles = query.services.filter((s) => !inJournal.includes(s));
  if (inJournal.length > 0) await run(journalctl, journalArguments(query, inJournal), out, signal);
  const { services: _services, file: _file, ...options } = query;
  if (inFiles.length > 0 && Object.keys(options).length > 0) {
    out.write(`\noptions present and query resolved to log files for ${inFiles.join(' ')}\ntry without specifying options\n`);
    return;
  }
  for (const service of inFiles) {
    let found: Awaited<ReturnType<typeof fileOf>> | undefined;
    for (const path of [[service], [`${service}.log`], [service, `${service}.log`]]) {
      found ??= await fileOf(deps.root, path).catch(() => undefined);
    }
    if (found === undefined) {
      out.write(`\nlog not found for ${service}\n`);
      continue;
    }
    try {
      await copy(found, out);
    } finally {
      await found.close();
    }
  }
}

/** Throws HttpError 404 for what is no plain file there. */
async function fileOf(root: string, segments: readonly string[]) {
  const file = await openBelow(root, segments);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new HttpError(404, '404 page not found\n');
}

/** As much of the file as there is now. */
async function copy(file: Awaited<ReturnType<typeof openBelow>>, out: Writable): Promise<void> {
  const { size } = await file.stat();
  if (size === 0) return;
  for await (const chunk of file.createReadStream({ autoClose: false, start: 0, end: size - 1 })) {
    if (!out.write(chunk)) await once(out, 'drain');
  }
}

/** The units that the journal knows; none where there is no journal. */
async function unitsOf(journalctl: string, signal: AbortSignal): Promise<Set<string>> {
  const chunks: Buffer[] = [];
  let size = 0;
  const child = spawn(journalctl, ['--field', '_SYSTEMD_UNIT'], { stdio: ['ignore', 'pipe', 'ignore'], env: environment(), signal });
  child.stdout.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= MAX_UNITS_BYTES) chunks.push(chunk);
  });
  await once(child, 'close').catch(() => {});
  return new Set(Buffer.concat(chunks).toString().split('\n'));
}

async function run(program: string, args: readonly string[], out: Writable, signal: AbortSignal): Promise<void> {
  const child = spawn(program, [...args], { stdio: ['ignore', 'pipe', 'pipe'], env: environment(), signal });
  const closed = once(child, 'close').catch(() => {});
  child.stderr.on('data', (chunk: Buffer) => void out.write(chunk));
  try {
    for await (const chunk of child.stdout) if (!out.write(chunk)) await once(out, 'drain', { signal });
  } catch {
    out.write('\nerror: journal output not available\n');
    child.kill('SIGKILL');
  }
  await closed;
}

const environment = () => ({ PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C.UTF-8' });
