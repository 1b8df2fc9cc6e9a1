import { Quantity } from '../api/quantity.ts';
import { isPodLevelResourcesSet, podLimits, quantityOf } from '../api/resources.ts';
import type { Pod, ResourceList } from '../api/types.ts';
import type { Mounter } from '../host/mounts.ts';
import type { OwnedFiles } from '../host/owned-files.ts';

export interface MemoryVolumeDeps {
  mounter: Mounter;
  owned: OwnedFiles;
  /** What pods may use of the node. */
  allocatable(): ResourceList;
  /** The kernel can keep a tmpfs out of swap. */
  noSwap: boolean;
}

/**
 * Mounts a tmpfs at `dir`, unless there is one. Its mode and group are options of the mount: it is there whole or not at
 * all. `limit` in bytes; undefined: no limit but the kernel's.
 */
export async function mountMemory(deps: MemoryVolumeDeps, dir: string, limit: bigint | undefined, gid: number | undefined): Promise<void> {
  const { mounter, owned, noSwap } = deps;
  await owned.makeDirectory(dir, 0o777);
  if (await mounter.isOwnDevice(dir)) return;
  const options = [gid === undefined ? 'mode=1777' : `mode=3777,gid=${gid}`];
  if (limit !== undefined) options.push(`size=${limit}`);
  if (noSwap) options.push('noswap');
  await mounter.mount({ source: 'tmpfs', target: dir, fsType: 'tmpfs', options });
}

/**
 * Bytes that a memory volume may hold: the least of the node's allocatable memory, the pod's memory limit and the volume's
 * own limit (contract: node.md §10). Undefined when none is known.
 */
export function memoryLimit(pod: Pod, allocatable: ResourceList, sizeLimit?: unknown): bigint | undefined {
  const own = sizeLimit === undefined || sizeLimit === null ? Quantity.zero : Quantity.fromJson(sizeLimit);
  const known = [quantityOf(allocatable, 'memory'), podMemoryLimit(pod), own].filter((q) => q.sign() > 0);
  if (known.length === 0) return undefined;
  return known.reduce((least, q) => (q.cmp(least) < 0 ? q : least)).value();
}

/** Zero unless the pod, or each of its containers, has a memory limit. */
function podMemoryLimit(pod: Pod): Quantity {
  const { initContainers = [], containers, resources } = pod.spec;
  const isOfPod = isPodLevelResourcesSet(pod) && !quantityOf(resources?.limits, 'memory').isZero();
  const isOfAll = [...initContainers, ...containers].every((c) => !quantityOf(c.resources?.limits, 'memory').isZero());
  return isOfPod || isOfAll ? (podLimits(pod).get('memory') ?? Quantity.zero) : Quantity.zero;
}
