import { podUid } from '../api/brands.ts';
import type { Pod } from '../api/types.ts';
import type { StatusManager } from '../status/manager.ts';

/** Desired pods, each with the status that the agent last gave it. */
export function podsWithStatus(pods: readonly Pod[], statuses: Pick<StatusManager, 'get'>): Pod[] {
  return pods.map((pod) => {
    const status = statuses.get(podUid(pod.metadata.uid)) ?? pod.status;
    return status === undefined ? pod : { ...pod, status };
  });
}
