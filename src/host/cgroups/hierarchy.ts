import { constants } from 'node:fs';
import * as fs from 'node:fs/promises';
import { join } from 'node:path';
import { isErrno } from '../files.ts';
import type { CgroupLayout } from './layout.ts';
import type { CgroupPath } from './path.ts';
import { parentPath } from './path.ts';

const ProcsFile = 'cgroup.procs';

/** v1 controllers in which the kubelet itself makes its groups. Others get theirs from the runtime and are only cleaned. */
const OwnControllers = ['cpu', 'cpuacct', 'cpuset', 'memory', 'pids', 'hugetlb', 'systemd'];

/** One mounted tree of control groups: a v1 hierarchy, the v2 tree, or the bare cgroup2 tree of a hybrid host. */
export class Hierarchy {
  readonly mountPoint: string;
  readonly controllers: ReadonlySet<string>;
  /** True when the kubelet makes its groups here. */
  readonly own: boolean;

  constructor(mountPoint: string, controllers: Iterable<string>, own: boolean) {
    this.mountPoint = mountPoint;
    this.controllers = new Set(controllers);
    this.own = own;
  }

  directory(path: CgroupPath): string {
    return join(this.mountPoint, path);
  }

  async exists(path: CgroupPath): Promise<boolean> {
    return fs.access(this.directory(path)).then(
      () => true,
      () => false,
    );
  }

  /** Creates the group and missing ones above it; the paths created, topmost first. */
  async make(path: CgroupPath): Promise<CgroupPath[]> {
    try {
      await fs.mkdir(this.directory(path), 0o755);
      return [path];
    } catch (err) {
      if (isErrno(err, 'EEXIST')) return [];
      if (!isErrno(err, 'ENOENT') || path === '/') throw err;
      const above = await this.make(parentPath(path));
      return [...above, ...(await this.make(path))];
    }
  }

  async children(path: CgroupPath): Promise<string[]> {
    const entries = await fs.readdir(this.directory(path), { withFileTypes: true }).catch((err: unknown) => {
      // ENODEV: the group went away between the two system calls.
      if (isErrno(err, 'ENOENT', 'ENODEV')) return [];
      throw err;
    });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  }

  async read(path: CgroupPath, file: string): Promise<string | undefined> {
    return fs.readFile(join(this.directory(path), file), 'utf8').catch((err: unknown) => {
      if (isErrno(err, 'ENOENT', 'ENODEV')) return undefined;
      throw err;
    });
  }

  /** Writes an existing file; control group files are never created. */
  async write(path: CgroupPath, file: string, value: string): Promise<void> {
    await fs.writeFile(join(this.directory(path), file), value, { flag: constants.O_WRONLY | constants.O_TRUNC });
  }

  /** Adds the processes of the group and all below it to `into`. */
  async collectPids(path: CgroupPath, into: Set<number>): Promise<void> {
    const procs = await this.read(path, ProcsFile).catch((err: unknown) => {
      // EOPNOTSUPP: a threaded v2 group, whose processes are listed above it.
      if (isErrno(err, 'EOPNOTSUPP')) return undefined;
      throw err;
    });
    for (const line of (procs ?? '').split('\n')) {
      const pid = Number(line);
      if (line !== '' && Number.isInteger(pid)) into.add(pid);
    }
    for (const child of await this.children(path)) await this.collectPids(join(path, child), into);
  }

  /** Removes the group and all below it, deepest first. Rejects with EBUSY while processes are in any. */
  async remove(path: CgroupPath): Promise<void> {
    const directory = this.directory(path);
    try {
      await fs.rmdir(directory);
    } catch (err) {
      if (isErrno(err, 'ENOENT', 'ENODEV')) return;
      if (!isErrno(err, 'EBUSY', 'ENOTEMPTY')) throw err;
      const children = await this.children(path);
      if (children.length === 0) throw err;
      for (const child of children) await this.remove(join(path, child));
      await fs.rmdir(directory).catch((again: unknown) => {
        if (!isErrno(again, 'ENOENT', 'ENODEV')) throw again;
      });
    }
  }
}

/** The trees of a layout: those the kubelet makes groups in first. */
export function hierarchiesOf(layout: CgroupLayout, v2Controllers: readonly string[]): Hierarchy[] {
  if (layout.version === 2) return [new Hierarchy(layout.mountPoint, v2Controllers, true)];
  const byMountPoint = new Map<string, string[]>();
  for (const [controller, mountPoint] of layout.controllers) {
    const known = byMountPoint.get(mountPoint);
    if (known === undefined) byMountPoint.set(mountPoint, [controller]);
    else known.push(controller);
  }
  const found = [...byMountPoint].map(
    ([mountPoint, controllers]) =>
      new Hierarchy(
        mountPoint,
        controllers,
        controllers.some((name) => OwnControllers.includes(name)),
      ),
  );
  if (layout.unified !== undefined) found.push(new Hierarchy(layout.unified, [], false));
  return found.sort((a, b) => Number(b.own) - Number(a.own));
}
