import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import { readMounts } from '../../src/host/mounts.ts';

/** Directories that tests mount in carry the process that made them: `kts-volumes-{pid}-{random}`. */
export const bedPrefix = (kind: string, pid = process.pid) => `kts-${kind}-${pid}-`;

const Bed = /\/(kts-[a-z]+-(\d+)-[^/]+)/;

/** What is there of tests, by path: mount points, files behind loop devices, directories. */
export interface Present {
  mountPoints: readonly string[];
  loopFiles: readonly string[];
  directories: readonly string[];
}

/** One line for each thing of a test whose process has ended. */
export function leftoversOf(present: Present, isAlive: (pid: number) => boolean): string[] {
  const isLeft = (path: string) => {
    const pid = Bed.exec(path)?.[2];
    return pid !== undefined && !isAlive(Number(pid));
  };
  return [
    ...present.mountPoints.filter(isLeft).map((path) => `${path} is still mounted`),
    ...present.loopFiles.filter(isLeft).map((path) => `a loop device still shows ${path}`),
    ...present.directories.filter(isLeft).map((path) => `${basename(path)} is still there`),
  ];
}

/** Looks at mountinfo, the loop devices and the folder of temporary files. */
export async function leftovers(): Promise<string[]> {
  const run = promisify(execFile);
  const [mounts, loops, names] = await Promise.all([
    readMounts(),
    run('losetup', ['-l', '-n', '-O', 'BACK-FILE']).then(
      ({ stdout }) => stdout,
      () => '',
    ),
    readdir(tmpdir()),
  ]);
  return leftoversOf(
    {
      mountPoints: mounts.map(({ mountPoint }) => mountPoint),
      loopFiles: loops.split('\n').map((line) => line.trim()),
      directories: names.map((name) => `${tmpdir()}/${name}`),
    },
    isAlive,
  );
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
