import { mkdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mustRun } from '../../scripts/node/run.ts';

/** Makes an ext4 file system of that many MiB in a file of `folder` and mounts it there; resolves with the mount point. */
export async function mountSmallDisk(folder: string, mebibytes: number): Promise<string> {
  const image = join(folder, 'disk.img');
  const disk = join(folder, 'disk');
  await mkdir(disk, { recursive: true });
  await writeFile(image, '');
  await truncate(image, mebibytes * 1024 ** 2);
  // No blocks kept back for root: what is left is what everybody has.
  await mustRun('mkfs.ext4', ['-q', '-F', '-m', '0', '-O', '^has_journal', image]);
  await mustRun('mount', ['-o', 'loop', image, disk]);
  return disk;
}
