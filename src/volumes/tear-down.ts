import { posix } from 'node:path';
import type { Files } from '../host/files.ts';
import type { MountEntry, Mounter, Mounts } from '../host/mounts.ts';
import type { OwnedFiles } from '../host/owned-files.ts';
import { type FoundVolume, listed, remainsOf } from './on-disk.ts';
import { DevicesDir, escapePlugin, podDir, SubPathsDir } from './paths.ts';
import type { VolumePlugin } from './plugin.ts';
import { textOf, VolumeError } from './volume-error.ts';

export interface TearDownDeps {
  plugins: readonly VolumePlugin[];
  podsDir: string;
  files: Files;
  owned: OwnedFiles;
  mounts: Pick<Mounts, 'below' | 'unmount'>;
  mounter: Pick<Mounter, 'unmountAll'>;
}

/**
 * Unmounts and removes every volume of a pod that is on disk, whoever made it: what to do is found from the directories and
 * mountinfo alone. Nothing is removed while something is mounted at or below it. Rejects with what is in the way, named by
 * volume; all that can go is gone then. Idempotent.
 */
export async function tearDownPod(deps: TearDownDeps, uid: string): Promise<void> {
  const { files, owned, podsDir, plugins } = deps;
  podDir(podsDir, uid);
  // mountinfo holds resolved paths.
  const root = await owned.realpath(podsDir);
  if (root === undefined) return;
  const dir = podDir(root, uid);
  const { volumes, subPaths } = await remainsOf(files, dir, uid);
  if (volumes.length === 0 && subPaths.length === 0) return;
  const failures: unknown[] = [];
  const guarded = async (volume: string, work: () => Promise<void>): Promise<boolean> => {
    try {
      await work();
      return true;
    } catch (err) {
      failures.push(new VolumeError('host', `UnmountVolume.TearDown failed for volume ${JSON.stringify(volume)} : ${textOf(err)}`, err));
      return false;
    }
  };
  const subPathsDir = posix.join(dir, SubPathsDir);
  // Sub paths first, they show what is in the volumes.
  const stuck = await unmount(deps, dir, [subPathsDir]);
  const freed = await Promise.all(
    subPaths.map((volume) =>
      guarded(volume, async () => {
        refuseMounted(stuck, posix.join(subPathsDir, volume));
        await files.removeTree(posix.join(subPathsDir, volume));
      }).then((done) => (done ? [] : [volume])),
    ),
  );
  const held = new Set(freed.flat());
  const released = await Promise.all(
    volumes.map(async (found) => {
      const owner = ownerOf(plugins, found);
      // What a sub path still shows must stay: its driver would take the ground away from under it.
      if (owner?.release === undefined || held.has(found.name)) return [found];
      return (await guarded(found.name, async () => owner.release?.(found))) ? [found] : [];
    }),
  );
  const ready = released.flat();
  const left = await unmount(
    deps,
    dir,
    ready.map(({ path }) => path),
  );
  await Promise.all(
    ready.map((found) =>
      guarded(found.name, async () => {
        refuseMounted(left, found.path);
        await removeVolume(ownerOf(plugins, found), files, found);
      }),
    ),
  );
  if (failures.length > 0)
    throw failures.length === 1 ? failures[0] : new VolumeError('host', failures.map(textOf).join('; '), failures[0]);
  await removeEmpty(files, dir, volumes);
}

function ownerOf(plugins: readonly VolumePlugin[], { plugin }: FoundVolume): VolumePlugin | undefined {
  return plugins.find((p) => escapePlugin(p.name) === plugin);
}

interface Unmounted {
  left: readonly MountEntry[];
  /** What the tool said of those. */
  cause: unknown;
}

/** File systems whose server may be dead: whoever waits for it keeps them busy for ever. */
const MayHang = /^(fuse|nfs)/;

/** Unmounts all at and below `paths`, the deepest and latest first. The pod's containers are stopped. */
async function unmount({ mounts, mounter }: TearDownDeps, dir: string, paths: readonly string[]): Promise<Unmounted> {
  const look = async () => {
    const found = await mounts.below(dir);
    return found.filter(({ mountPoint }) => paths.some((path) => isAtOrBelow(mountPoint, path)));
  };
  const found = await look();
  if (found.length === 0) return { left: [], cause: undefined };
  let cause: unknown;
  try {
    await mounter.unmountAll(found.map((mount) => mount.mountPoint));
  } catch (err) {
    cause = err;
    for (const { mountPoint, fsType } of await look()) {
      if (MayHang.test(fsType)) await mounts.unmount(mountPoint, { force: true }).catch(() => mounts.unmount(mountPoint, { lazy: true }));
    }
  }
  return { left: await look(), cause };
}

function refuseMounted({ left, cause }: Unmounted, path: string): void {
  const mounted = left.find(({ mountPoint }) => isAtOrBelow(mountPoint, path));
  if (mounted !== undefined) throw new Error(`${mounted.mountPoint} is still mounted: ${textOf(cause)}`);
}

async function removeVolume(owner: VolumePlugin | undefined, files: Files, { plugin, name, path, isBlock }: FoundVolume): Promise<void> {
  if (isBlock) return files.unlink(path);
  if (owner !== undefined) return owner.tearDown(path);
  // Of a kind that is not known here, e.g. left by another agent: its data may not be the pod's own.
  if ((await listed(files, path)).length > 0) throw new Error(`no volume plug-in ${plugin} that could remove ${name}, and it is not empty`);
  await files.rmdir(path);
}

/** The directories of plug-ins that hold nothing any more. */
async function removeEmpty(files: Files, dir: string, volumes: readonly FoundVolume[]): Promise<void> {
  const parents = new Set(volumes.map(({ path }) => posix.dirname(path)));
  await Promise.all([...parents].map((parent) => files.rmdir(parent)));
  await Promise.all([files.rmdir(posix.join(dir, SubPathsDir)), files.rmdir(posix.join(dir, DevicesDir))]);
}

function isAtOrBelow(path: string, dir: string): boolean {
  return path === dir || path.startsWith(`${dir}/`);
}
