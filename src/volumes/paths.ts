import { posix } from 'node:path';
import { VolumeError } from './volume-error.ts';

/** The names in a pod's directory that belong to volumes (contract: node.md §10). */
export const VolumesDir = 'volumes';
export const DevicesDir = 'volumeDevices';
export const SubPathsDir = 'volume-subpaths';

/** One part of a path that comes from a pod: never a way out of the directory before it. Throws VolumeError. */
export function segment(name: string, what: string): string {
  if (name === '' || name === '.' || name === '..' || /[/\0]/.test(name) || Buffer.byteLength(name) > 255) {
    throw new VolumeError('invalid', `${what} ${JSON.stringify(name)} cannot be the name of a directory`);
  }
  return name;
}

/** A plug-in's name as a directory: `kubernetes.io~empty-dir`. */
export function escapePlugin(name: string): string {
  return name.replaceAll('/', '~');
}

export function podDir(podsDir: string, uid: string): string {
  return posix.join(podsDir, segment(uid, 'pod UID'));
}

/** {root}/pods/{uid}/volumes/{plug-in}/{volume}. */
export function volumeDir(podsDir: string, uid: string, plugin: string, volume: string): string {
  return posix.join(podDir(podsDir, uid), VolumesDir, escapePlugin(plugin), segment(volume, 'volume'));
}

/** {root}/pods/{uid}/volumeDevices/{plug-in}/{volume}: a link to the device. */
export function deviceLink(podsDir: string, uid: string, plugin: string, volume: string): string {
  return posix.join(podDir(podsDir, uid), DevicesDir, escapePlugin(plugin), segment(volume, 'volume'));
}

/** {root}/pods/{uid}/volume-subpaths/{volume}/{container}/{index of the mount}. */
export function subPathTarget(podsDir: string, uid: string, volume: string, container: string, index: number): string {
  return posix.join(podDir(podsDir, uid), SubPathsDir, segment(volume, 'volume'), segment(container, 'container'), String(index));
}
