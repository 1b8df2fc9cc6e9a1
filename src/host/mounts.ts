import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

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
  /** Mounts at `path` or below it, deepest and latest first: the order to unmount them. `path` holds no symlinks. */
  below(path: string): Promise<MountEntry[]>;
  /** Unmounts exactly `path`, never what a symlink there points to. Rejects with the tool's own words. */
  unmount(path: string, options?: { lazy?: boolean }): Promise<void>;
}

const run = promisify(execFile);

/** An unmount of a dead network file system may hang: the tool is killed after this. */
const UnmountTimeoutMs = 60_000;

/** The machine's mounts. */
export const nodeMounts: Mounts = {
  list: readMounts,

  async below(path) {
    const mounts = await readMounts();
    return mounts.filter((mount) => mount.mountPoint === path || mount.mountPoint.startsWith(path === '/' ? '/' : `${path}/`)).reverse();
  },

  async unmount(path, options = {}) {
    const flags = options.lazy === true ? ['--no-canonicalize', '--lazy'] : ['--no-canonicalize'];
    try {
      await run('umount', [...flags, '--', path], { timeout: UnmountTimeoutMs, env: { PATH: process.env['PATH'] ?? '', LC_ALL: 'C' } });
    } catch (err) {
      const stderr = err instanceof Error && 'stderr' in err && typeof err.stderr === 'string' ? err.stderr.trim() : '';
      throw new Error(`cannot unmount ${path}: ${stderr === '' ? String(err) : stderr}`, { cause: err });
    }
  },
};

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
