import type { Files } from '../../host/files.ts';
import type { Mounts } from '../../host/mounts.ts';
import type { Logger } from '../../observe/log.ts';

/**
 * Removes the directory, or the file of a device, that a driver should have unmounted and removed by now. One that is still
 * mounted is unmounted; one that holds anything is left, and the call rejects: it may be somebody's data.
 */
export async function removeMountDir(
  { files, mounts, log }: { files: Files; mounts: Mounts; log: Logger },
  path: string,
  driver: string,
): Promise<void> {
  const info = await files.lstat(path);
  if (info === undefined) return;
  for (const { mountPoint } of await mounts.below(path)) {
    log.warn('The CSI driver has left a mount, it is unmounted now', { driver, path: mountPoint });
    await mounts.unmount(mountPoint);
  }
  if (info.kind === 'directory') await files.rmdir(path);
  else await files.unlink(path);
}
