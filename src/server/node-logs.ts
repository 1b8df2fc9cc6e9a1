import { type FileHandle, readdir } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { extname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { HttpError } from './errors.ts';
import { openBelow } from './logs/open-below.ts';

/** Answers /logs/...: directories as a list of links, files as they are. Nothing outside of `root` is ever opened. */
export async function nodeLogs(
  root: string,
  segments: readonly string[],
  trailingSlash: boolean,
  method: string,
  res: ServerResponse,
): Promise<void> {
  if (method !== 'GET' && method !== 'HEAD') throw new HttpError(405, '405: Method Not Allowed', { Allow: 'GET' });
  const file = await openBelow(root, segments);
  try {
    const info = await file.stat();
    if (info.isDirectory()) {
      // Relative links in the list need the slash.
      if (!trailingSlash) throw new HttpError(301, '', { Location: `${encodeURIComponent(segments.at(-1) ?? 'logs')}/` });
      return await list(file, res);
    }
    if (!info.isFile()) throw new HttpError(404, '404 page not found\n');
    const type = ['.log', '.txt', ''].includes(extname(segments.at(-1) ?? '')) ? 'text/plain; charset=utf-8' : 'application/octet-stream';
    res.writeHead(200, { 'Content-Type': type, 'Content-Length': info.size, 'X-Content-Type-Options': 'nosniff' });
    if (method === 'HEAD' || info.size === 0) res.end();
    // A log grows while it is sent: no more than was announced.
    else await pipeline(file.createReadStream({ autoClose: false, start: 0, end: info.size - 1 }), res);
  } finally {
    await file.close();
  }
}

async function list(directory: FileHandle, res: ServerResponse): Promise<void> {
  const entries = await readdir(`/proc/self/fd/${directory.fd}`, { withFileTypes: true });
  const lines = entries
    .map((e) => (e.isDirectory() ? `${e.name}/` : e.name))
    .sort()
    .map((name) => `<a href="${encodeURIComponent(name).replaceAll('%2F', '/')}">${escapeHtml(name)}</a>`);
  res.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', 'X-Content-Type-Options': 'nosniff' });
  res.end(`<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n${lines.join('\n')}\n</pre>\n`);
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&#34;');
}
