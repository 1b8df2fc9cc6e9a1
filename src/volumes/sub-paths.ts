import { posix } from 'node:path';
import type { Files } from '../host/files.ts';
import type { Mounter, Mounts } from '../host/mounts.ts';
import type { OwnedFiles } from '../host/owned-files.ts';
import { type HeldPath, openBeneath } from '../host/safe-path.ts';
import { VolumeError } from './volume-error.ts';

export interface SubPathDeps {
  files: Files;
  owned: OwnedFiles;
  mounts: Pick<Mounts, 'below'>;
  mounter: Mounter;
}

export interface SubPathRequest {
  /** Root of the volume on the host. */
  root: string;
  /** Whether that root may be a link: of a hostPath it may. */
  followRoot: boolean;
  /** Relative, below `root`; chosen by the pod. Missing directories are made. */
  subPath: string;
  /** Where it is bound to: {root}/pods/{uid}/volume-subpaths/... */
  target: string;
}

/**
 * Binds a part of a volume to a place that the pod cannot reach, for the runtime to use: no path that the pod can change is
 * ever resolved by name twice (CVE-2017-1002101, CVE-2021-25741). The part is opened by a walk that stays in the volume, the
 * mount is made from that descriptor, and what is mounted is compared with it. A target that shows the same already is left
 * as it is; another one, from an earlier container, is unmounted first.
 */
export async function bindSubPath(deps: SubPathDeps, request: SubPathRequest): Promise<void> {
  const { root, followRoot, subPath, target } = request;
  const held = await openBeneath(root, subPath, { create: 'as-root', followRoot });
  try {
    if (await isSame(deps, target, held)) return;
    await makeTarget(deps, target, held.kind === 'directory');
    await deps.mounter.mount({ source: held.pathForChild, target, options: ['bind'] });
    if (await isSame(deps, target, held)) return;
    await clear(deps, target);
    throw new VolumeError('host', 'another file than the one that was opened got mounted');
  } finally {
    await held.close();
  }
}

async function isSame({ owned }: SubPathDeps, target: string, held: HeldPath): Promise<boolean> {
  const found = await owned.identity(target);
  return found !== undefined && found.dev === held.dev && found.ino === held.ino;
}

/** An empty directory or file to mount on. What an earlier container left there is removed. */
async function makeTarget(deps: SubPathDeps, target: string, isDirectory: boolean): Promise<void> {
  const { files, owned } = deps;
  if ((await owned.identity(target)) !== undefined) await clear(deps, target);
  await files.mkdir(posix.dirname(target), 0o750);
  if (isDirectory) await files.mkdir(target, 0o750);
  else await owned.createFile(target, new Uint8Array(), 0o640);
}

async function clear({ files, mounts, mounter }: SubPathDeps, target: string): Promise<void> {
  await mounter.unmountAll((await mounts.below(target)).map((mount) => mount.mountPoint));
  await files.removeTree(target);
}
