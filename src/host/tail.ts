import { constants, open } from 'node:fs/promises';
import type { Files } from './files.ts';

/** The end of a file. */
export interface Tail {
  /** At most the asked number of bytes. */
  data: Buffer;
  /** True when the file begins before `data` does. */
  cut: boolean;
}

/** Reads the end of a file that a container could write to. */
export interface TailReader {
  /**
   * At most the last `maxBytes`. Follows no symlink in the last part of the path (ELOOP) and reads regular files only
   * (EINVAL): the file may be the work of a container, and the reader is root. Other errors are Node's.
   */
  readTail(path: string, maxBytes: number): Promise<Tail>;
}

/** The machine's files. */
export const systemTailReader: TailReader = {
  async readTail(path, maxBytes) {
    // O_NONBLOCK: opening a pipe must not wait for its writer.
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const info = await file.stat();
      if (!info.isFile()) throw Object.assign(new Error(`EINVAL: not a regular file, read '${path}'`), { code: 'EINVAL', path });
      const start = Math.max(0, info.size - maxBytes);
      const buffer = Buffer.alloc(Math.min(maxBytes, info.size));
      let filled = 0;
      while (filled < buffer.length) {
        const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, start + filled);
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
      return { data: buffer.subarray(0, filled), cut: start > 0 };
    } finally {
      await file.close();
    }
  },
};

/** A tail reader on top of a `Files` (a simulated one, say): it reads the whole file, which must be small. */
export function tailReaderOn(files: Pick<Files, 'lstat' | 'read'>): TailReader {
  return {
    async readTail(path, maxBytes) {
      const kind = (await files.lstat(path))?.kind;
      if (kind !== undefined && kind !== 'file') {
        const code = kind === 'symlink' ? 'ELOOP' : 'EINVAL';
        throw Object.assign(new Error(`${code}: not a regular file, read '${path}'`), { code, path });
      }
      const whole = await files.read(path);
      return { data: whole.subarray(Math.max(0, whole.length - maxBytes)), cut: whole.length > maxBytes };
    },
  };
}
