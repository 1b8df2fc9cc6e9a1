import { constants, type FileHandle, open, readlink } from 'node:fs/promises';
import { isErrno } from '../../host/files.ts';
import { HttpError } from '../errors.ts';

/** Links followed on one way; more is a circle. */
const MAX_LINKS = 8;

/**
 * Opens what lies below `root` at these segments. Every step opens one name in an open directory and follows no link; a
 * link's target is looked up again from the root, and one that leads out of it is not there. So nothing outside is ever
 * opened, whatever is swapped meanwhile. Throws HttpError 404.
 */
export async function openBelow(root: string, segments: readonly string[]): Promise<FileHandle> {
  let wanted = segments;
  for (let links = 0; links <= MAX_LINKS; links++) {
    const found = await walk(root, wanted);
    if ('file' in found) return found.file;
    const next = linkTarget(root, found.directory, found.target, found.rest);
    if (next === undefined) break;
    wanted = next;
  }
  throw new HttpError(404, '404 page not found\n');
}

type Step = { file: FileHandle } | { target: string; directory: readonly string[]; rest: readonly string[] };

/** Up to the end, or to the first link on the way. */
async function walk(root: string, segments: readonly string[]): Promise<Step> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  let here = await open(root, constants.O_RDONLY | constants.O_DIRECTORY);
  for (const [i, segment] of segments.entries()) {
    let next: FileHandle;
    const path = `/proc/self/fd/${here.fd}/${segment}`;
    try {
      next = await open(path, flags);
    } catch (err) {
      if (!isErrno(err)) throw err;
      // What is not a link after all has changed meanwhile.
      const target = err.code === 'ELOOP' ? await readlink(path).catch(() => undefined) : undefined;
      if (target === undefined) throw new HttpError(404, '404 page not found\n');
      return { target, directory: segments.slice(0, i), rest: segments.slice(i + 1) };
    } finally {
      await here.close();
    }
    here = next;
  }
  return { file: here };
}

/** Where a link below `root` leads, as segments below `root`; undefined when that is outside. Pure. */
export function linkTarget(
  root: string,
  directory: readonly string[],
  target: string,
  rest: readonly string[],
): readonly string[] | undefined {
  let base = directory;
  let path = target;
  if (target.startsWith('/')) {
    if (target !== root && !target.startsWith(`${root}/`)) return undefined;
    base = [];
    path = target.slice(root.length);
  }
  const segments = [...base];
  for (const segment of path.split('/')) {
    if (segment === '' || segment === '.') continue;
    if (segment !== '..') segments.push(segment);
    else if (segments.pop() === undefined) return undefined;
  }
  return [...segments, ...rest];
}
