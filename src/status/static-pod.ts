import { ConfigSourceAnnotation } from '../api/annotations.ts';
import type { Pod } from '../api/types.ts';

/** True for a pod from a file or a URL (contract: pod-lifecycle.md §1). */
export function isStaticPod(pod: Pod): boolean {
  const source = pod.metadata.annotations?.[ConfigSourceAnnotation];
  return source !== undefined && source !== 'api';
}
