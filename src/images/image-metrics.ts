export type PullPolicy = 'Always' | 'IfNotPresent' | 'Never';

/** What the image manager counts. Undefined means "not known", label value `unknown`. */
export interface ImageMetrics {
  /** kubelet_image_pull_duration_seconds, waiting included; `size` in bytes, 0 when it could not be learnt. */
  pulled(seconds: number, size: number): void;
  /** kubelet_image_manager_ensure_image_requests_total. */
  ensured(policy: PullPolicy, presentLocally: boolean | undefined, pullRequired: boolean | undefined): void;
}

export const noImageMetrics: ImageMetrics = { pulled() {}, ensured() {} };

/** Upper bounds in bytes of the label image_size_in_bytes of kubelet_image_pull_duration_seconds. */
const sizeBuckets: readonly (readonly [number, string])[] = [
  [10, '0-10MB'],
  [100, '10MB-100MB'],
  [500, '100MB-500MB'],
  [1024, '500MB-1GB'],
  [5 * 1024, '1GB-5GB'],
  [10 * 1024, '5GB-10GB'],
  [20 * 1024, '10GB-20GB'],
  [30 * 1024, '20GB-30GB'],
  [40 * 1024, '30GB-40GB'],
  [60 * 1024, '40GB-60GB'],
  [100 * 1024, '60GB-100GB'],
];

/** The label value for an image of `bytes`; `N/A` when the size is not known. */
export function imageSizeBucket(bytes: number): string {
  if (bytes === 0) return 'N/A';
  return sizeBuckets.find(([mebibytes]) => bytes <= mebibytes * 1024 * 1024)?.[1] ?? 'GT100GB';
}
