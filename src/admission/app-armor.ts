import type { Container, Pod } from '../api/types.ts';
import type { Rejection } from './general-predicates.ts';

const AnnotationPrefix = 'container.apparmor.security.beta.kubernetes.io/';
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

function wantsAppArmor({ metadata, spec }: Pod): boolean {
  const { initContainers = [], containers, ephemeralContainers = [] } = spec;
  const all: Container[] = [...initContainers, ...containers, ...ephemeralContainers];
  const profiles = [spec, ...all].map((c) => c.securityContext?.appArmorProfile);
  if (profiles.some((p) => p !== undefined && p !== null && p.type !== 'Unconfined')) return true;
  return Object.entries(metadata.annotations ?? {}).some(([key, value]) => key.startsWith(AnnotationPrefix) && value !== Unconfined);
}
