import { posix } from 'node:path';
import { type DirEntry, type Files, isErrno } from '../host/files.ts';
import { DevicesDir, SubPathsDir, VolumesDir } from './paths.ts';
import type { PlacedVolume } from './plugin.ts';

/** A volume found on disk. */
export interface FoundVolume extends PlacedVolume {
  /** As a directory: `kubernetes.io~secret`. */
  plugin: string;
}

/** What a pod has on disk of its volumes, whoever made it. */
export interface PodRemains {
  volumes: FoundVolume[];
  /** Names of volumes that have sub paths bound. */
  subPaths: string[];
}

/** Reads the directories of one pod; `dir` is {root}/pods/{uid}. */
export async function remainsOf(files: Files, dir: string, podUid: string): Promise<PodRemains> {
  const [directories, devices, subPaths] = await Promise.all([
    placedIn(files, posix.join(dir, VolumesDir), podUid, false),
    placedIn(files, posix.join(dir, DevicesDir), podUid, true),
    directoriesIn(files, posix.join(dir, SubPathsDir)),
  ]);
  return { volumes: [...directories, ...devices], subPaths };
}

/** Pods that have volumes or sub paths on disk, with them. */
export async function podsWithVolumes(files: Files, podsDir: string): Promise<Map<string, PodRemains>> {
  const found = new Map<string, PodRemains>();
  for (const uid of await directoriesIn(files, podsDir)) {
    const remains = await remainsOf(files, posix.join(podsDir, uid), uid);
    if (remains.volumes.length + remains.subPaths.length > 0) found.set(uid, remains);
  }
  return found;
}

async function placedIn(files: Files, dir: string, podUid: string, isBlock: boolean): Promise<FoundVolume[]> {
  const plugins = await directoriesIn(files, dir);
  const lists = await Promise.all(
    plugins.map(async (plugin) => {
      // Links too: whatever has taken a volume's place goes with it, and is not followed.
      const entries = await listed(files, posix.join(dir, plugin));
      return entries.map(({ name }) => ({ podUid, plugin, name, path: posix.join(dir, plugin, name), isBlock }));
    }),
  );
  return lists.flat();
}

async function directoriesIn(files: Files, path: string): Promise<string[]> {
  return (await listed(files, path)).filter(({ kind }) => kind === 'directory').map(({ name }) => name);
}

/** The entries of a directory; none when there is no such directory. */
export async function listed(files: Files, path: string): Promise<DirEntry[]> {
  try {
    return await files.list(path);
  } catch (err) {
    if (isErrno(err, 'ENOENT', 'ENOTDIR')) return [];
    throw err;
  }
}
