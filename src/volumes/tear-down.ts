import { posix } from 'node:path';
import { type Files, isErrno } from '../host/files.ts';
import type { MountEntry, Mounter, Mounts } from '../host/mounts.ts';
import type { OwnedFiles } from '../host/owned-files.ts';
import { escapePlugin, podDir, SubPathsDir, VolumesDir } from './paths.ts';
import type { VolumePlugin } from './plugin.ts';
import { textOf, VolumeError } from './volume-error.ts';

export interface TearDownDeps {
  plugins: readonly VolumePlugin[];
  podsDir: string;
  files: Files;
  owned: OwnedFiles;
  mounts: Pick<Mounts, 'below'>;
  mounter: Pick<Mounter, 'unmountAll'>;
}

/** A volume of a pod as its directory shows it. */
interface Remains {
  /** As a directory: `kubernetes.io~secret`. */
  plugin: string;
  volume: string;
  dir: string;
}

/**
 * Unmounts and removes every volume of a pod that is on disk, whoever made it: what to do is found from the directories and
 * mountinfo alone. Nothing is removed while something is mounted at or below it. Rejects with what is in the way, named by
 * volume; all that can go is gone then. Idempotent.
 */
export async function tearDownPod(deps: TearDownDeps, uid: string): Promise<void> {
  const { files, owned, podsDir } = deps;
  // mountinfo holds resolved paths.
  const root = await owned.realpath(podsDir);
  if (root === undefined) return;
  const dir = podDir(root, uid);
  const subPathsDir = posix.join(dir, SubPathsDir);
  const [remains, subPaths] = await Promise.all([remainsOf(files, posix.join(dir, VolumesDir)), directories(files, subPathsDir)]);
  if (remains.length === 0 && subPaths.length === 0) return;
  const { left, cause } = await unmount(deps, dir, subPathsDir);
  const failures: unknown[] = [];
  const remove = async (path: string, what: string, work: () => Promise<void>) => {
    const mounted = left.find(({ mountPoint }) => isAtOrBelow(mountPoint, path));
    try {
      if (mounted !== undefined) throw new Error(`${mounted.mountPoint} is still mounted: ${textOf(cause)}`);
      await work();
    } catch (err) {
      failures.push(new VolumeError('host', `UnmountVolume.TearDown failed for volume ${JSON.stringify(what)} : ${textOf(err)}`, err));
    }
  };
  await Promise.all([
    ...subPaths.map((volume) => remove(posix.join(subPathsDir, volume), volume, () => files.removeTree(posix.join(subPathsDir, volume)))),
    ...remains.map((found) => remove(found.dir, found.volume, () => removeVolume(deps.plugins, files, found))),
  ]);
  if (failures.length === 0) return removeEmpty(files, dir, remains);
  throw failures.length === 1 ? failures[0] : new VolumeError('host', failures.map(textOf).join('; '), failures[0]);
}

/** Pods that have volumes or sub paths on disk, by their UID. */
export async function podsWithVolumes(files: Files, podsDir: string): Promise<string[]> {
  const uids = await directories(files, podsDir);
  const lists = await Promise.all(
    uids.map(async (uid) => {
      const [remains, subPaths] = await Promise.all([
        remainsOf(files, posix.join(podsDir, uid, VolumesDir)),
        directories(files, posix.join(podsDir, uid, SubPathsDir)),
      ]);
      return remains.length + subPaths.length > 0 ? [uid] : [];
    }),
  );
  return lists.flat();
}

async function remainsOf(files: Files, volumesDir: string): Promise<Remains[]> {
  const plugins = await directories(files, volumesDir);
  const lists = await Promise.all(
    plugins.map(async (plugin) => {
      // Links too: whatever has taken a volume's place goes with it, and is not followed.
      const entries = await listed(files, posix.join(volumesDir, plugin));
      return entries.map(({ name }) => ({ plugin, volume: name, dir: posix.join(volumesDir, plugin, name) }));
    }),
  );
  return lists.flat();
}

/** Sub paths first, they show what is in the volumes; then the deepest and latest first. What could not go is `left`. */
async function unmount(deps: TearDownDeps, dir: string, subPathsDir: string): Promise<{ left: MountEntry[]; cause: unknown }> {
  const volumesDir = posix.join(dir, VolumesDir);
  const look = async () => {
    const found = await deps.mounts.below(dir);
    const below = (path: string) => found.filter(({ mountPoint }) => isAtOrBelow(mountPoint, path));
    return [...below(subPathsDir), ...below(volumesDir)];
  };
  const found = await look();
  if (found.length === 0) return { left: [], cause: undefined };
  let cause: unknown;
  try {
    await deps.mounter.unmountAll(found.map((mount) => mount.mountPoint));
  } catch (err) {
    cause = err;
  }
  return { left: await look(), cause };
}

async function removeVolume(plugins: readonly VolumePlugin[], files: Files, { plugin, volume, dir }: Remains): Promise<void> {
  const owner = plugins.find((p) => escapePlugin(p.name) === plugin);
  if (owner !== undefined) return owner.tearDown(dir);
  // Of a kind that is not known here, e.g. left by another agent: its data may not be the pod's own.
  if ((await listed(files, dir)).length > 0)
    throw new Error(`no volume plug-in ${plugin} that could remove ${volume}, and it is not empty`);
  await files.rmdir(dir);
}

/** The directories of plug-ins that hold nothing any more. */
async function removeEmpty(files: Files, dir: string, remains: readonly Remains[]): Promise<void> {
  await Promise.all([...new Set(remains.map(({ plugin }) => plugin))].map((plugin) => files.rmdir(posix.join(dir, VolumesDir, plugin))));
  await files.rmdir(posix.join(dir, SubPathsDir));
}

async function directories(files: Files, path: string): Promise<string[]> {
  return (await listed(files, path)).filter(({ kind }) => kind === 'directory').map(({ name }) => name);
}

async function listed(files: Files, path: string) {
  try {
    return await files.list(path);
  } catch (err) {
    if (isErrno(err, 'ENOENT', 'ENOTDIR')) return [];
    throw err;
  }
}

function isAtOrBelow(path: string, dir: string): boolean {
  return path === dir || path.startsWith(`${dir}/`);
}
