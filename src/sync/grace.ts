import type { Pod, Probe } from '../api/types.ts';
import type { KillReason } from './actions.ts';

/** StopContainer never gets less, whatever grace was asked for. Seconds. */
export const MINIMUM_STOP_SECONDS = 2;
const DEFAULT_GRACE_SECONDS = 30;

/**
 * The grace period of stopping one container, in seconds: first match of an override, the pod's deletion, the probe
 * that failed, the pod's own setting (contract: pod-lifecycle §7).
 */
export function graceSeconds(pod: Pod, container: string, reason: KillReason | undefined, override: number | undefined): number {
  if (override !== undefined) return override;
  const deletion = pod.metadata.deletionGracePeriodSeconds;
  if (deletion !== undefined && deletion !== null) return deletion;
  const ofProbe = probeOf(pod, container, reason)?.terminationGracePeriodSeconds;
  return ofProbe ?? pod.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS;
}

/** The grace of a whole pod that ends, in seconds: never less than one, so that its preStop hooks run (contract: pod-lifecycle §4). */
export function podGraceSeconds(pod: Pod, override: number | undefined): number {
  return Math.max(1, graceSeconds(pod, '', undefined, override));
}

function probeOf(pod: Pod, container: string, reason: KillReason | undefined): Probe | undefined {
  const spec = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].find((c) => c.name === container);
  if (reason === 'startupProbe') return spec?.startupProbe;
  if (reason === 'livenessProbe') return spec?.livenessProbe;
  return undefined;
}
