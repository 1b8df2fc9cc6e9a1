import { readFile } from 'node:fs/promises';
import { run } from './run.ts';

export interface MountEntry {
  mountpoint: string;
  type: string;
  /** Options of the file system itself, for cgroup v1 the controllers among them. */
  superOptions: string[];
}

/** Reads the text of /proc/self/mountinfo (proc(5)); blanks in paths come as octal escapes. */
export function parseMountinfo(text: string): MountEntry[] {
  const entries: MountEntry[] = [];
  for (const line of text.split('\n')) {
    const [left, right] = line.split(' - ');
    const mountpoint = left?.split(' ')[4];
    const [type, , superOptions] = right?.split(' ') ?? [];
    if (mountpoint === undefined || type === undefined) continue;
    entries.push({ mountpoint: unescapeOctal(mountpoint), type, superOptions: (superOptions ?? '').split(',') });
  }
  return entries;
}

function unescapeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

/** All mounts of this process's mount namespace, in the order they were made. */
export async function readMounts(): Promise<MountEntry[]> {
  return parseMountinfo(await readFile('/proc/self/mountinfo', 'utf8'));
}

/** Mount points at or below any of `folders`, in the order they were made. */
export async function mountsBelow(folders: readonly string[]): Promise<string[]> {
  const mounts = await readMounts();
  return mounts.map((m) => m.mountpoint).filter((p) => folders.some((f) => p === f || p.startsWith(`${f}/`)));
}

/** Unmounts everything at or below `folders`, last made first; what is still in use is detached. */
export async function unmountBelow(folders: readonly string[]): Promise<void> {
  for (let round = 0; round < 5; round++) {
    const points = (await mountsBelow(folders)).reverse();
    if (points.length === 0) return;
    for (let i = 0; i < points.length; i += 100) {
      await run('umount', [...(round === 0 ? [] : ['-l']), '--', ...points.slice(i, i + 100)]);
    }
  }
}
