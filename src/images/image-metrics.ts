import type { PullPolicy } from './pull-policy.ts';

/** What the image manager counts. Undefined means "not known", label value `unknown`. */
export interface ImageMetrics {
  /** kubelet_image_pull_duration_seconds, waiting included; `size` in bytes, 0 when it could not be learnt. */
  pulled(seconds: number, size: number): void;
  /** kubelet_image_manager_ensure_image_requests_total. */
  ensured(policy: PullPolicy, presentLocally: boolean | undefined, pullRequired: boolean | undefined): void;
}

export const noImageMetrics: ImageMetrics = { pulled() {}, ensured() {} };
