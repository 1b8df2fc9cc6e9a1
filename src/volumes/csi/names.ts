import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { segment } from '../paths.ts';
import { VolumeError } from '../volume-error.ts';

/** The plug-in's name; `kubernetes.io~csi` as a directory. */
export const CsiPluginName = 'kubernetes.io/csi';

/** The VolumeAttachment of a volume on a node. */
export function attachmentName(volumeHandle: string, driver: string, nodeName: string): string {
  return `csi-${sha256(`${volumeHandle}${driver}${nodeName}`)}`;
}

/** The handle of an inline volume, which the driver is asked to make. */
export function ephemeralHandle(podUid: string, volume: string): string {
  return `csi-${sha256(`${podUid}${volume}`)}`;
}

/** The volume in a node's volumesInUse and volumesAttached. */
export function uniqueVolumeName(driver: string, volumeHandle: string): string {
  return `${CsiPluginName}/${driver}^${volumeHandle}`;
}

/** {root}/plugins/kubernetes.io/csi: where volumes are staged. */
export function csiDir(rootDir: string): string {
  return posix.join(rootDir, 'plugins', CsiPluginName);
}

/** Where a volume is staged; vol_data.json lies one level above. Throws VolumeError for a driver's name that is none. */
export function stagingPath(rootDir: string, driver: string, volumeHandle: string): string {
  if (volumeHandle === '') throw new VolumeError('invalid', 'the CSI volume has no volume handle');
  return posix.join(csiDir(rootDir), segment(driver, 'CSI driver'), sha256(volumeHandle), 'globalmount');
}

/** The paths of a block volume; `volume` is the name of its PersistentVolume. */
export interface BlockPaths {
  /** Removed when the last pod is gone. */
  volumeDir: string;
  dataDir: string;
  /** Links (bind mounts) to the device, one a pod. */
  mapDir: string;
  staging: string;
  /** Holds one file a pod, made by the driver. */
  publishDir: string;
}

export function blockPaths(rootDir: string, volume: string): BlockPaths {
  const devices = posix.join(csiDir(rootDir), 'volumeDevices');
  const name = segment(volume, 'volume');
  const volumeDir = posix.join(devices, name);
  return {
    volumeDir,
    dataDir: posix.join(volumeDir, 'data'),
    mapDir: posix.join(volumeDir, 'dev'),
    staging: posix.join(devices, 'staging', name),
    publishDir: posix.join(devices, 'publish', name),
  };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
