import { release } from 'node:os';
import { readMounts } from './mounts.ts';

/** What the kernel offers to volumes. */
export interface VolumeFeatures {
  /** A tmpfs can be kept out of swap. */
  noSwap: boolean;
  /** SELinux is at work: files that the agent makes need a label. */
  selinux: boolean;
}

export async function volumeFeatures(): Promise<VolumeFeatures> {
  const mounts = await readMounts();
  return { noSwap: hasNoSwap(release()), selinux: mounts.some((mount) => mount.fsType === 'selinuxfs' && mount.options.includes('rw')) };
}

/** The tmpfs option `noswap` came with Linux 6.4. */
export function hasNoSwap(kernelRelease: string): boolean {
  const [major = 0, minor = 0] = kernelRelease.split('.', 2).map((part) => Number.parseInt(part, 10) || 0);
  return major > 6 || (major === 6 && minor >= 4);
}
