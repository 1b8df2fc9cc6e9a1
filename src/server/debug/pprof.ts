import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { HttpError } from '../errors.ts';
import { sendText } from '../http.ts';
import type { Profiler } from './profiler.ts';

const compress = promisify(gzip);

const DEFAULT_CPU_SECONDS = 30;
const DEFAULT_HEAP_SECONDS = 5;
const MAX_SECONDS = 300;

const index = `<html><head><title>/debug/pprof/</title></head><body><p>Profiles of this process, for go tool pprof:</p>
<table><tr><td><a href="profile?seconds=30">profile</a></td><td>CPU, for ?seconds=N</td></tr>
<tr><td><a href="heap">heap</a></td><td>what is on the heap of that which was allocated since the first look; ?gc=1 collects garbage first</td></tr>
<tr><td><a href="allocs">allocs</a></td><td>all that was allocated since the first look</td></tr>
<tr><td><a href="cmdline">cmdline</a></td><td>the command line</td></tr></table></body></html>
`;

/** Answers /debug/pprof/{item}. Go's profiles of goroutines, locks and threads have no counterpart here: 404. */
export async function pprof(
  item: string,
  url: URL,
  deps: { profiler: Profiler; argv: readonly string[] },
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const { profiler, argv } = deps;
  const gone = new AbortController();
  res.once('close', () => gone.abort());
  const wait = (standard: number) => secondsOf(url.searchParams.get('seconds'), standard);
  switch (item) {
    case '':
      res.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', 'X-Content-Type-Options': 'nosniff' });
      res.end(index);
      return;
    case 'cmdline':
      return sendText(res, 200, argv.join('\0'));
    case 'symbol':
      // Profiles carry their names: nothing needs to be looked up.
      req.resume();
      return sendText(res, 200, 'num_symbols: 1\n');
    case 'profile':
      return send(res, 'profile', await profiler.cpu(wait(DEFAULT_CPU_SECONDS), gone.signal));
    case 'heap':
    case 'allocs': {
      const garbage = (url.searchParams.get('gc') ?? '0') !== '0';
      return send(res, item, await profiler.heap(item, wait(DEFAULT_HEAP_SECONDS), garbage, gone.signal));
    }
    default:
      throw new HttpError(404, 'Unknown profile\n');
  }
}

function secondsOf(text: string | null, standard: number): number {
  const seconds = Number(text ?? standard);
  if (!Number.isFinite(seconds) || seconds <= 0) return standard;
  if (seconds > MAX_SECONDS) throw new HttpError(400, `profile duration exceeds ${MAX_SECONDS} seconds\n`);
  return seconds;
}

async function send(res: ServerResponse, name: string, profile: Buffer): Promise<void> {
  const body = await compress(profile);
  res.writeHead(200, {
    'Content-Type': 'application/octet-stream',
    'Content-Disposition': `attachment; filename="${name}"`,
    'Content-Length': body.length,
    'X-Content-Type-Options': 'nosniff',
  });
  res.end(body);
}
