import { execFile } from 'node:child_process';
import { lstat, readFile, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { isErrno } from './files.ts';

/** One line of /proc/self/mountinfo (proc_pid_mountinfo(5)). */
export interface MountEntry {
  id: number;
  parentId: number;
  /** Root of the mount within its file system. */
  root: string;
  mountPoint: string;
  /** Per-mount options, e.g. `rw`, `nosuid`. */
  options: string[];
  fsType: string;
  source: string;
  /** Per-superblock options; for a cgroup v1 hierarchy its controllers. */
  superOptions: string[];
}

/** Mounts of this process's namespace, as the rooms that make or clean them need it. */
export interface Mounts {
  /** In mount order: what was mounted last comes last. */
  list(): Promise<MountEntry[]>;
  /** Mounts at `path` or below it, deepest and latest first: the order to unmount them. Links above `path` are resolved, `path` is not. */
  below(path: string): Promise<MountEntry[]>;
  /** Unmounts exactly `path`, never what a symlink there points to. Rejects with the tool's own words. */
  unmount(path: string, options?: UnmountOptions): Promise<void>;
}

export interface UnmountOptions {
  /** The name is free at once; the file system goes when nobody uses it any more. */
  lazy?: boolean;
  /** Ends what waits for the server of a network or FUSE file system with an error. */
  force?: boolean;
}

/** A file system to mount. `target` exists and is not resolved; `source` may be a descriptor's path, which the kernel follows. */
export interface MountRequest {
  source: string;
  target: string;
  /** Undefined with `bind` among the options. */
  fsType?: string;
  options: readonly string[];
}

/** Making mounts, and removing many at once. */
export interface Mounter {
  /** Rejects with the tool's own words. */
  mount(request: MountRequest): Promise<void>;
  /** Unmounts mount points that `Mounts.below` gave, in the order given, as many as it can. Rejects with what the tool said of the others. */
  unmountAll(mountPoints: readonly string[]): Promise<void>;
  /** True when `path` is on another device than its parent. A bind mount of the same file system is not seen by that. */
  isOwnDevice(path: string): Promise<boolean>;
}

const run = promisify(execFile);

/** A mount or an unmount of a dead network file system may hang: the tool is killed after this. */
const ToolTimeoutMs = 60_000;

/** The machine's mounts. */
export const nodeMounts: Mounts & Mounter = {
  list: readMounts,

  async below(path) {
    const [mounts, real] = await Promise.all([readMounts(), realParent(path)]);
    return mounts.filter((mount) => mount.mountPoint === real || mount.mountPoint.startsWith(real === '/' ? '/' : `${real}/`)).reverse();
  },

  async unmount(path, options = {}) {
    // umount(2) follows a final symlink, whatever the tool is told: only what is itself a mount point is given to it.
    const real = await realParent(path);
    if (!(await readMounts()).some((mount) => mount.mountPoint === real)) throw new Error(`cannot unmount ${path}: not mounted`);
    await tool(
      'umount',
      [...(options.lazy === true ? ['--lazy'] : []), ...(options.force === true ? ['--force'] : []), '--', real],
      `cannot unmount ${path}`,
    );
  },

  async mount({ source, target, fsType, options }) {
    const type = fsType === undefined ? [] : ['-t', fsType];
    await tool('mount', ['-n', ...type, '-o', options.join(','), '--', source, target], `cannot mount ${fsType ?? 'to'} ${target}`);
  },

  async unmountAll(mountPoints) {
    if (mountPoints.length > 0) await tool('umount', ['--', ...mountPoints], 'cannot unmount');
  },

  async isOwnDevice(path) {
    const [own, parent] = await Promise.all([lstat(path), lstat(dirname(path))]);
    return own.isDirectory() && own.dev !== parent.dev;
  },
};

/** Runs a tool of util-linux with the paths as they are given. Errors hold its words after `what`. */
async function tool(name: 'mount' | 'umount', args: readonly string[], what: string): Promise<void> {
  const env = { PATH: process.env['PATH'] ?? '', LC_ALL: 'C' };
  try {
    await run(name, ['--no-canonicalize', ...args], { timeout: ToolTimeoutMs, env });
  } catch (err) {
    const stderr = err instanceof Error && 'stderr' in err && typeof err.stderr === 'string' ? err.stderr.trim() : '';
    throw new Error(`${what}: ${stderr === '' ? String(err) : stderr}`, { cause: err });
  }
}

/** mountinfo holds resolved paths. A path whose parent does not exist stays as it is. */
async function realParent(path: string): Promise<string> {
  try {
    return join(await realpath(dirname(path)), basename(path));
  } catch (err) {
    if (isErrno(err, 'ENOENT', 'ENOTDIR')) return path;
    throw err;
  }
}

/** Reads and parses /proc/self/mountinfo. */
export async function readMounts(): Promise<MountEntry[]> {
  return parseMountInfo(await readFile('/proc/self/mountinfo', 'utf8'));
}

/** Parses the text of a mountinfo file; lines of another shape are left out. */
export function parseMountInfo(text: string): MountEntry[] {
  const entries: MountEntry[] = [];
  for (const line of text.split('\n')) {
    const fields = line.split(' ');
    // Optional fields (shared:N, master:N) end with a lone dash.
    const dash = fields.indexOf('-', 6);
    const [id, parentId, , root, mountPoint, options] = fields;
    const [fsType, source, superOptions] = dash < 0 ? [] : fields.slice(dash + 1);
    if (root === undefined || mountPoint === undefined || options === undefined || fsType === undefined || source === undefined) continue;
    entries.push({
      id: Number(id),
      parentId: Number(parentId),
      root: unescapeOctal(root),
      mountPoint: unescapeOctal(mountPoint),
      options: options.split(','),
      fsType,
      source: unescapeOctal(source),
      superOptions: (superOptions ?? '').split(','),
    });
  }
  return entries;
}

/** The kernel writes space, tab, newline and backslash as \040 and its like. */
function unescapeOctal(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}
