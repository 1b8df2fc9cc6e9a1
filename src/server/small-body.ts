import type { IncomingMessage } from 'node:http';
import { HttpError } from './errors.ts';

const MAX_BODY_BYTES = 1_024;

/** The text of a body that is meant to be short. Throws HttpError 413 for a longer one. */
export async function smallBody(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new HttpError(413, 'body too long\n');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
