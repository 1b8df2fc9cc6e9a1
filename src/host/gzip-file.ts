import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';

/** Writes `from`, compressed, to `to` (mode `mode`, replacing it). In pieces, off the event loop. Rejects with the file's or the signal's error. */
export async function gzipFile(from: string, to: string, mode: number, signal?: AbortSignal): Promise<void> {
  const options = signal === undefined ? {} : { signal };
  await pipeline(createReadStream(from), createGzip(), createWriteStream(to, { flags: 'w', mode }), options);
}
