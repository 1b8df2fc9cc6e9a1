import * as fs from 'node:fs';
import { isErrno } from './files.ts';

/** What walks of a tree on a thread of their own share. Blocks. */

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = fs.constants;

/** Undefined for what is gone, or has become another thing, since its name was read. */
export function ifThere<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (err) {
    if (isErrno(err, 'ENOENT', 'ENOTDIR', 'ELOOP')) return undefined;
    throw err;
  }
}

/** A descriptor of the directory, also where a link is swapped in meanwhile; undefined when there is none. The caller closes it. */
export function openDirectory(path: string): number | undefined {
  return ifThere(() => fs.openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
}

/** The name by which an open file can be used, wherever it was moved. */
export function pathOf(descriptor: number): string {
  return `/proc/self/fd/${descriptor}`;
}
