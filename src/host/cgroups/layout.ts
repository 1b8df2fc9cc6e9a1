import type { MountEntry } from '../mounts.ts';

/** Where the control groups of this machine are mounted. */
export type CgroupLayout =
  | { version: 2; mountPoint: string }
  | {
      version: 1;
      /** Controller to mount point; the named hierarchy of systemd is the key `systemd`. Co-mounted ones share a mount point. */
      controllers: ReadonlyMap<string, string>;
      /** The cgroup2 tree of a hybrid host (without controllers): processes have a place in it too. */
      unified?: string;
    };

const NamedSystemd = 'name=systemd';

/** v1 controllers by the names in a hierarchy's super options; anything else there is a mount option. */
const KnownControllers = new Set([
  'cpu',
  'cpuacct',
  'cpuset',
  'memory',
  'pids',
  'hugetlb',
  'devices',
  'freezer',
  'blkio',
  'net_cls',
  'net_prio',
  'perf_event',
  'rdma',
  'misc',
]);

/**
 * Finds the control groups among the mounts of this process. A host with any v1 controller mounted is v1 (hybrid when a
 * cgroup2 tree is there too). Throws when nothing is mounted.
 */
export function detectLayout(mounts: readonly MountEntry[]): CgroupLayout {
  const controllers = new Map<string, string>();
  let unified: string | undefined;
  for (const mount of mounts) {
    // A bind mount of a part of a hierarchy would give wrong paths.
    if (mount.root !== '/') continue;
    if (mount.fsType === 'cgroup2') {
      if (unified === undefined || isShorter(mount.mountPoint, unified)) unified = mount.mountPoint;
      continue;
    }
    if (mount.fsType !== 'cgroup') continue;
    for (const option of mount.superOptions) {
      const name = option === NamedSystemd ? 'systemd' : option;
      if (name !== 'systemd' && !KnownControllers.has(name)) continue;
      const known = controllers.get(name);
      if (known === undefined || isShorter(mount.mountPoint, known)) controllers.set(name, mount.mountPoint);
    }
  }
  if (controllers.size > (controllers.has('systemd') ? 1 : 0)) {
    return { version: 1, controllers, ...(unified === undefined ? {} : { unified }) };
  }
  if (unified !== undefined) return { version: 2, mountPoint: unified };
  throw new Error('no control groups are mounted: /proc/self/mountinfo names neither cgroup nor cgroup2');
}

/** The same hierarchy may be mounted twice; the usual place is the shorter path. */
function isShorter(a: string, b: string): boolean {
  return a.length < b.length;
}
