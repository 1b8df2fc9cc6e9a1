/** Which images go (contract: pod-lifecycle.md §16, image GC). Pure: values in, values out. Times are monotonic milliseconds. */

export interface ImageGcPolicy {
  /** Percent of the file system in use at which images are removed. */
  highPercent: number;
  /** Percent down to which they are removed. */
  lowPercent: number;
  /** An image that was seen first less than this ago stays. Milliseconds. */
  minAgeMs: number;
  /** An image unused for longer goes whatever the usage; 0: never. Milliseconds. */
  maxAgeMs: number;
}

/** What is known of an image. */
export interface ImageRecord {
  id: string;
  firstDetected: number;
  /** -Infinity: not since the agent started. */
  lastUsed: number;
  /** Bytes. */
  size: number;
  pinned: boolean;
  runtimeHandler: string | undefined;
}

/** Collecting by usage and by age are both switched off. */
export const isImageGcOff = (policy: ImageGcPolicy) => policy.highPercent === 100 && policy.maxAgeMs === 0;

/** The images that may go, the one that was used longest ago first. */
export function evictionOrder(records: Iterable<ImageRecord>, inUse: ReadonlySet<string>): ImageRecord[] {
  const free = [...records].filter((image) => !image.pinned && !inUse.has(image.id));
  return free.sort((a, b) => (a.lastUsed === b.lastUsed ? a.firstDetected - b.firstDetected : a.lastUsed - b.lastUsed));
}

/** Those that nobody has used for longer than the policy's age; none while the agent itself is not older. */
export function outdated(images: readonly ImageRecord[], policy: ImageGcPolicy, now: number, startedAt: number): ImageRecord[] {
  if (policy.maxAgeMs === 0 || now - startedAt <= policy.maxAgeMs) return [];
  return images.filter((image) => now - image.lastUsed > policy.maxAgeMs);
}

export interface Shortage {
  usedPercent: number;
  /** Bytes. */
  toFree: number;
}

/** What must be freed on a file system of these sizes in bytes; undefined below the threshold. */
export function shortage(capacity: number, available: number, policy: ImageGcPolicy): Shortage | undefined {
  const free = Math.min(capacity, available);
  const usedPercent = 100 - Math.trunc((free * 100) / capacity);
  if (usedPercent < policy.highPercent) return undefined;
  return { usedPercent, toFree: Math.trunc((capacity * (100 - policy.lowPercent)) / 100) - free };
}

/** Too young to go: it may have been pulled for a container that is about to start. */
export const isTooYoung = (image: ImageRecord, policy: ImageGcPolicy, now: number) => now - image.firstDetected < policy.minAgeMs;

/** `12.3 GiB`. */
export function formatSize(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let size = bytes;
  let unit = 0;
  for (; size >= 1024 && unit < units.length - 1; unit++) size /= 1024;
  return `${unit === 0 ? Math.trunc(size) : size.toFixed(1)} ${units[unit]}`;
}
