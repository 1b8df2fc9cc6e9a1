import { Quantity } from '../api/quantity.ts';
import { podLimits, quantityOf } from '../api/resources.ts';
import type { Pod } from '../api/types.ts';
import type { PodUsage } from './ranking.ts';

/** The limit that a pod's own use of the disk broke. `signal` is the metric's label. */
export interface LocalStorageFault {
  signal: 'emptydirfs.limit' | 'ephemeralpodfs.limit' | 'ephemeralcontainerfs.limit';
  message: string;
}

const Storage = 'ephemeral-storage';

/** Whether a pod has any limit of its own on what it may hold of the disk: only then is it measured for that. */
export function hasLocalStorageLimit(pod: Pod): boolean {
  const { containers, initContainers = [], volumes = [] } = pod.spec;
  return (
    volumes.some(({ emptyDir }) => emptyDir?.sizeLimit !== undefined && emptyDir.sizeLimit !== null) ||
    podLimits(pod).has(Storage) ||
    [...containers, ...initContainers].some((c) => c.resources?.limits?.[Storage] !== undefined)
  );
}

/**
 * Whether a pod holds more of the disk than its own limits allow: an emptyDir's size, the pod's sum, a container's
 * writable layer and logs. The layer counts only where it lies on the node's own file system. Source: contract node.md
 * §3, events.md §7.
 */
export function localStorageFault(pod: Pod, usage: PodUsage, { imageFs }: { imageFs: boolean }): LocalStorageFault | undefined {
  return emptyDirFault(pod, usage) ?? podFault(pod, usage) ?? containerFault(pod, usage, imageFs);
}

function emptyDirFault(pod: Pod, usage: PodUsage): LocalStorageFault | undefined {
  for (const { name, emptyDir } of pod.spec.volumes ?? []) {
    const text = emptyDir?.sizeLimit;
    if (text === undefined || text === null) continue;
    const limit = Quantity.fromJson(text);
    const used = usage.volume?.find((volume) => volume.name === name)?.usedBytes;
    if (limit.sign() > 0 && exceeds(used, limit)) {
      return { signal: 'emptydirfs.limit', message: `Usage of EmptyDir volume "${name}" exceeds the limit "${limit}". ` };
    }
  }
  return undefined;
}

function podFault(pod: Pod, usage: PodUsage): LocalStorageFault | undefined {
  const limit = podLimits(pod).get(Storage);
  if (limit === undefined || limit.isZero() || !exceeds(usage['ephemeral-storage']?.usedBytes, limit)) return undefined;
  return {
    signal: 'ephemeralpodfs.limit',
    message: `Pod ephemeral local storage usage exceeds the total limit of containers ${limit}. `,
  };
}

function containerFault(pod: Pod, usage: PodUsage, imageFs: boolean): LocalStorageFault | undefined {
  for (const container of pod.spec.containers) {
    const limit = quantityOf(container.resources?.limits, Storage);
    const stats = usage.containers?.find(({ name }) => name === container.name);
    if (limit.isZero() || stats === undefined) continue;
    const used = (stats.logs?.usedBytes ?? 0) + (imageFs ? 0 : (stats.rootfs?.usedBytes ?? 0));
    if (exceeds(used, limit)) {
      return {
        signal: 'ephemeralcontainerfs.limit',
        message: `Container ${container.name} exceeded its local ephemeral storage limit "${limit}". `,
      };
    }
  }
  return undefined;
}

function exceeds(used: number | undefined, limit: Quantity): boolean {
  return used !== undefined && BigInt(Math.trunc(used)) > limit.value();
}
