import { posix } from 'node:path';
import { VolumeError } from './volume-error.ts';

/** One file that a volume shows. */
export interface VolumeFile {
  data: Uint8Array;
  /** Permission bits. */
  mode: number;
  /** Undefined: the agent's user. */
  uid?: number | undefined;
}

/** Files by their path in the volume. */
export type Payload = Map<string, VolumeFile>;

const MaxPathBytes = 4096;
const MaxNameBytes = 255;

/**
 * The payload with its paths cleaned. Throws VolumeError for a path that is empty, absolute, too long, holds `..` or NUL,
 * begins with `..` (names of the writer's own), or needs a directory where another path has a file.
 */
export function cleanPayload(payload: Payload): Payload {
  const clean: Payload = new Map();
  for (const [path, file] of payload) clean.set(cleanFilePath(path), file);
  for (const path of clean.keys()) {
    for (let parent = posix.dirname(path); parent !== '.'; parent = posix.dirname(parent)) {
      if (clean.has(parent)) throw new VolumeError('invalid', `invalid path: ${JSON.stringify(parent)} would be a file and a directory`);
    }
  }
  return clean;
}

function cleanFilePath(path: string): string {
  const refuse = (why: string) => new VolumeError('invalid', `invalid path: ${why}: ${shorten(path)}`);
  if (path === '') throw refuse('must not be empty');
  if (path.includes('\0')) throw refuse('must not hold NUL');
  if (path.startsWith('/')) throw refuse('must be relative');
  if (Buffer.byteLength(path) > MaxPathBytes) throw refuse(`must be at most ${MaxPathBytes} bytes`);
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.length === 0) throw refuse('names no file');
  if (parts.includes('..')) throw refuse("must not contain '..'");
  if (parts[0]?.startsWith('..') === true) throw refuse("must not start with '..'");
  if (parts.some((part) => Buffer.byteLength(part) > MaxNameBytes)) throw refuse(`names must be at most ${MaxNameBytes} bytes`);
  return parts.join('/');
}

function shorten(path: string): string {
  return JSON.stringify(path.length > 80 ? `${path.slice(0, 80)}...` : path);
}
