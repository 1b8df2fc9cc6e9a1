import { getPodQOS } from '../api/qos.ts';
import { couldRestartAllContainers, shouldRestartAllContainers } from '../api/restart.ts';
import type { ContainerStatus, Pod, PodCondition, PodPhase, PodStatus, ResourceRequirements } from '../api/types.ts';
import type { ObservedPod } from '../pleg/types.ts';
import type { PodCgroupValues } from '../resources/pod-cgroup-values.ts';
import {
  allContainersRestartingCondition,
  containersReadyCondition,
  DisruptionTarget,
  initializedCondition,
  KubeletConditions,
  readyCondition,
  readyToStartContainersCondition,
  scheduledCondition,
} from './conditions.ts';
import { containerStatuses, type StartFailure } from './container-statuses.ts';
import { normalizeStatus } from './normalize.ts';
import { podPhase } from './phase.ts';
import { podIPs } from './pod-ips.ts';
import { podLevelStatus } from './pod-resources.ts';
import { type ProbeResults, withProbeResults } from './readiness.ts';

/** A phase set from outside the runtime's evidence: evicted, past its deadline, rejected, shut down. */
export interface StatusOverride {
  phase: PodPhase;
  reason: string;
  message: string;
  /** The `DisruptionTarget` condition that goes with it. */
  disruption?: { reason: string; message: string };
}

export interface ComputeInput extends ProbeResults {
  pod: Pod;
  /** Undefined when the runtime knows nothing of the pod. */
  observed: ObservedPod | undefined;
  /** The last computed status; undefined falls back to the pod's own. */
  previous: PodStatus | undefined;
  /** The worker has ended the pod: nothing is started again and nothing runs any more. */
  isTerminal: boolean;
  /** RFC 3339, whole seconds. */
  nowIso: string;
  /** By container name: why it was not started (the reason cache). */
  reasons: ReadonlyMap<string, StartFailure>;
  /** The node's addresses, the preferred family first; empty while unknown. */
  hostIPs: readonly string[];
  /** Such as `containerd`. */
  runtimeName: string;
  override?: StatusOverride;
  /** PodResizePending, PodResizeInProgress. */
  resizeConditions?: readonly PodCondition[];
  /** By container name: CPU and memory in force, for what the runtime does not report. */
  actuated?: (container: string) => ResourceRequirements | undefined;
  /** Show resources of the pod as a whole; with what its control group is set to, where that is known. */
  podLevel?: { cgroup: PodCgroupValues | undefined };
  /** See `withProbeResults`. */
  keepReadyBefore?: string;
  /** The pod's runtime handler can mount recursively read-only. */
  recursiveReadOnly?: boolean;
}

/**
 * The API status of a pod from what is wanted, what was seen and what was said before. Pure; never throws. The phase
 * may be terminal while containers still run (that is what makes the worker end the pod): `mergeForApi` holds it back
 * from the API until none does. Source: contract pod-lifecycle.md §14, events.md §5 and §9.
 */
export function computePodStatus(input: ComputeInput): PodStatus {
  const { pod, observed, nowIso } = input;
  const own = pod.status;
  const previous = input.previous ?? own ?? {};
  const { initContainers = [], containers, ephemeralContainers = [] } = pod.spec;
  const records = observed?.containers ?? [];
  const context = {
    pod,
    observed: records,
    reasons: input.reasons,
    runtimeName: input.runtimeName,
    restartingAll: shouldRestartAllContainers(pod, records, previous),
    recursiveReadOnly: input.recursiveReadOnly === true,
    ...(input.actuated === undefined ? {} : { actuated: input.actuated }),
  };
  const probed = (kind: 'init' | 'regular', list: typeof containers, old: ContainerStatus[] | undefined) =>
    withProbeResults(pod, list, containerStatuses(context, kind, list, old ?? []), kind, input, input.keepReadyBefore);
  const init = probed('init', initContainers, previous.initContainerStatuses);
  const regular = probed('regular', containers, previous.containerStatuses);
  const ephemeral = containerStatuses(context, 'ephemeral', ephemeralContainers, previous.ephemeralContainerStatuses ?? []);
  const all = [...init, ...regular];

  const seen = podPhase(pod, all, { podIsTerminal: input.isTerminal, podHasInitialized: activeRegularContainer(pod, observed) });
  const { phase, reason, message } = settlePhase(input, previous, seen);

  const conditions = foreignConditions(own);
  conditions.push(...(input.isTerminal ? [] : (input.resizeConditions ?? [])));
  const disruption = disruptionCondition(input, previous);
  if (disruption) replaceOrAppend(conditions, disruption);
  conditions.push(readyToStartContainersCondition(pod, observed?.sandboxes ?? []));
  conditions.push(initializedCondition(pod, previous, all, phase));
  conditions.push(readyCondition(pod, conditions, all, phase));
  conditions.push(containersReadyCondition(pod, all, phase));
  conditions.push(scheduledCondition(pod));
  if (couldRestartAllContainers(pod.spec)) conditions.push(allContainersRestartingCondition(pod, records, previous, phase));

  const status: PodStatus = { phase, conditions };
  if (reason) status.reason = reason;
  if (message) status.message = message;
  if (pod.metadata.generation) status.observedGeneration = pod.metadata.generation;
  status.qosClass = own?.qosClass || previous.qosClass || getPodQOS(pod);
  if (regular.length > 0) status.containerStatuses = regular;
  if (init.length > 0) status.initContainerStatuses = init;
  if (ephemeral.length > 0) status.ephemeralContainerStatuses = ephemeral;
  if (input.podLevel !== undefined) Object.assign(status, podLevelStatus(pod, previous, input.podLevel.cgroup));
  if (own?.nominatedNodeName) status.nominatedNodeName = own.nominatedNodeName;
  setAddresses(status, input, previous);
  return normalizeStatus(pod, status, previous, nowIso);
}

/** The phase with the reason and message that go with it. A terminal phase, once said, stays. */
function settlePhase(
  input: ComputeInput,
  previous: PodStatus,
  seen: PodPhase,
): { phase: PodPhase; reason: string | undefined; message: string | undefined } {
  const own = input.pod.status;
  const said = [own?.phase, previous.phase].find(isTerminalPhase);
  const { override } = input;
  if (override && (said === undefined || said === override.phase)) return { ...override };
  const phase = said ?? seen;
  if (phase !== previous.phase) return { phase, reason: undefined, message: undefined };
  return { phase, reason: previous.reason || own?.reason, message: previous.message || own?.message };
}

/** Failed and Succeeded: the pod will not run again. */
export function isTerminalPhase(phase: PodPhase | undefined): phase is 'Failed' | 'Succeeded' {
  return phase === 'Failed' || phase === 'Succeeded';
}

/** True when the newest sandbox is ready and holds a regular container, in whatever state. */
function activeRegularContainer(pod: Pod, observed: ObservedPod | undefined): boolean {
  const newest = observed?.sandboxes[0];
  if (!observed || newest?.state !== 'ready') return false;
  const names = new Set(pod.spec.containers.map((c) => c.name));
  return observed.containers.some((c) => c.sandboxId === newest.id && names.has(c.name));
}

function foreignConditions(own: PodStatus | undefined): PodCondition[] {
  return (own?.conditions ?? []).filter((c) => !KubeletConditions.has(c.type));
}

/** DisruptionTarget is set by one event and never computed anew. */
function disruptionCondition(input: ComputeInput, previous: PodStatus): PodCondition | undefined {
  const kept = previous.conditions?.find((c) => c.type === DisruptionTarget);
  const asked = input.override?.disruption;
  if (!asked || kept?.status === 'True') return kept;
  const { generation } = input.pod.metadata;
  return { type: DisruptionTarget, status: 'True', ...asked, ...(generation ? { observedGeneration: generation } : {}) };
}

function replaceOrAppend(conditions: PodCondition[], condition: PodCondition): void {
  const at = conditions.findIndex((c) => c.type === condition.type);
  if (at < 0) conditions.push(condition);
  else conditions[at] = condition;
}

function setAddresses(status: PodStatus, input: ComputeInput, previous: PodStatus): void {
  const { hostIPs, pod } = input;
  const shown = previous.podIPs?.map((p) => p.ip) ?? (previous.podIP ? [previous.podIP] : []);
  const ips = podIPs(input.observed, shown, hostIPs, pod.spec.hostNetwork === true);
  if (ips[0] !== undefined) {
    status.podIP = ips[0];
    status.podIPs = ips.map((ip) => ({ ip }));
  }
  const hosts = hostIPs.length > 0 ? hostIPs.slice(0, 2) : (previous.hostIPs?.map((h) => h.ip) ?? []);
  if (hosts[0] !== undefined) {
    status.hostIP = hosts[0];
    status.hostIPs = hosts.map((ip) => ({ ip }));
  }
}
