/** A control group's absolute path as seen from the root of its hierarchy, e.g. `/kubepods/burstable/pod1`. */
export type CgroupPath = string;

/**
 * Appends names to a cgroup path. Each must be one plain name: an empty one, `.`, `..`, one with a slash or NUL is
 * refused, so that the result cannot leave `base`.
 */
export function cgroupJoin(base: CgroupPath, ...names: string[]): CgroupPath {
  let path = base === '/' ? '' : base;
  for (const name of names) {
    if (name === '' || name === '.' || name === '..' || /[/\0]/.test(name)) {
      throw new Error(`${JSON.stringify(name)} is not the name of a control group`);
    }
    path = `${path}/${name}`;
  }
  return path === '' ? '/' : path;
}

/** Throws unless `path` is absolute and made of plain names. `/` itself is fine. */
export function requireCgroupPath(path: string): void {
  if (!path.startsWith('/')) throw new Error(`${JSON.stringify(path)} is not an absolute control group path`);
  if (path !== '/') cgroupJoin('/', ...path.slice(1).split('/'));
}

/** True when `path` is `scope` or below it. Both are checked paths. */
export function isWithin(path: CgroupPath, scope: CgroupPath): boolean {
  return scope === '/' || path === scope || path.startsWith(`${scope}/`);
}

/** The group above; `/` for the root itself. */
export function parentPath(path: CgroupPath): CgroupPath {
  const slash = path.lastIndexOf('/');
  return slash <= 0 ? '/' : path.slice(0, slash);
}
