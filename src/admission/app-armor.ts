import { AppArmorAnnotationPrefix } from '../api/annotations.ts';
import { allContainers } from '../api/pod.ts';
import type { Pod } from '../api/types.ts';
import type { Rejection } from './general-predicates.ts';

const Unconfined = 'unconfined';

/**
 * Why a pod is refused that wants AppArmor on a node without it; one that wants to be unconfined, or that runs already,
 * is not. Source: contract events.md §6.
 */
export function appArmorFault(pod: Pod, isEnabled: boolean): Rejection | undefined {
  const phase = pod.status?.phase;
  if (isEnabled || (phase !== undefined && phase !== 'Pending') || !wantsAppArmor(pod)) return undefined;
  return { reason: 'AppArmor', message: 'Cannot enforce AppArmor: AppArmor is not enabled on the host' };
}

function wantsAppArmor(pod: Pod): boolean {
  const all = [...allContainers(pod)].map(({ container }) => container);
  const profiles = [pod.spec, ...all].map((c) => c.securityContext?.appArmorProfile);
  if (profiles.some((p) => p !== undefined && p !== null && p.type !== 'Unconfined')) return true;
  return Object.entries(pod.metadata.annotations ?? {}).some(
    ([key, value]) => key.startsWith(AppArmorAnnotationPrefix) && value !== Unconfined,
  );
}
