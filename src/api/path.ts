import { posix } from 'node:path';

/** Go's path.Clean: no doubled or trailing slash, `.` and `..` resolved; the empty path is ".". */
export function cleanPath(path: string): string {
  const normal = posix.normalize(path);
  return normal.length > 1 && normal.endsWith('/') ? normal.slice(0, -1) : normal;
}

/** Go's filepath.Join: empty elements are left out, the rest is joined and cleaned; nothing gives "". */
export function joinPath(...elements: readonly string[]): string {
  const joined = elements.filter((element) => element !== '').join('/');
  return joined === '' ? '' : cleanPath(joined);
}

/** Go's path.Base: the last element; "." of an empty path, "/" of slashes only. */
export function basePath(path: string): string {
  if (path === '') return '.';
  const trimmed = path.replace(/(?<!\/)\/+$/, '');
  if (/^\/*$/.test(trimmed)) return '/';
  return trimmed.slice(trimmed.lastIndexOf('/') + 1);
}
