import { closeSync, constants, openSync, readSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from './clock.ts';
import { isErrno } from './files.ts';

const Path = '/dev/kmsg';
/** No record of the kernel is longer. */
const RecordBytes = 8192;
const LookMs = 1_000;
/** Records read in one turn of the event loop; each takes a few microseconds. */
const AtOnce = 100;

/**
 * What the kernel logs from now on, one text a record, until `signal` aborts. Records that the kernel overwrote before they
 * were read are missing. Throws when the log cannot be opened (EACCES, EPERM, ENOENT). Source: the kernel's
 * Documentation/ABI/testing/dev-kmsg.
 */
export async function* kernelLog(clock: Clock, signal: AbortSignal, path = Path): AsyncGenerator<string, void> {
  // A read takes one record of the ten thousand that may be there: a way through Node's thread pool for each would take
  // seconds. Without O_NONBLOCK it would wait until the kernel says something.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const buffer = Buffer.alloc(RecordBytes);
    let isNew = false;
    while (!signal.aborted) {
      const { records, atEnd } = readRecords(file, buffer);
      // What was there before is another's.
      if (isNew) yield* records.map(recordText);
      isNew ||= atEnd;
      if (atEnd) await clock.sleep(LookMs, signal).catch(() => {});
      else await turn();
    }
  } finally {
    closeSync(file);
  }
}

function readRecords(file: number, buffer: Buffer): { records: string[]; atEnd: boolean } {
  const records: string[] = [];
  while (records.length < AtOnce) {
    try {
      const length = readSync(file, buffer);
      if (length === 0) return { records, atEnd: true };
      records.push(buffer.toString('utf8', 0, length));
    } catch (err) {
      if (isErrno(err, 'EAGAIN')) return { records, atEnd: true };
      // Some were overwritten: the next read goes on with the oldest that is left.
      if (!isErrno(err, 'EPIPE')) throw err;
    }
  }
  return { records, atEnd: false };
}

/** `6,339,5140900,-;text`, and below it lines with a blank in front that hold properties. */
export function recordText(record: string): string {
  const [first = ''] = record.split('\n', 1);
  const semicolon = first.indexOf(';');
  return semicolon < 0 ? first : first.slice(semicolon + 1);
}
