import type { ContainerState, ContainerStatus, Pod, PodCondition, PodStatus } from '../api/types.ts';
import { cutToSeconds } from './times.ts';

/** Bytes that the termination messages of one pod may take together (contract: pod-lifecycle.md §9). */
const messageBudget = 12 * 1024;

/** A change of these conditions is dated; resize conditions are dated by who sets them, foreign ones by their owner. */
const datedConditions = new Set([
  'ContainersReady',
  'Ready',
  'Initialized',
  'PodReadyToStartContainers',
  'PodScheduled',
  'DisruptionTarget',
  'AllContainersRestarting',
]);

/**
 * The status as it is kept and sent: condition times carried over from `old` where the status did not change, the
 * start time never moved, the generation never taken back, times in whole seconds, lists sorted, messages within their
 * share. Idempotent. `nowIso` dates what is new.
 */
export function normalizeStatus(pod: Pod, status: PodStatus, old: PodStatus | undefined, nowIso: string): PodStatus {
  const share = messageShare(pod);
  const normal: PodStatus = { ...status };
  normal.startTime = cutToSeconds(old?.startTime || status.startTime || nowIso);
  const generation = Math.max(status.observedGeneration ?? 0, old?.observedGeneration ?? 0);
  if (generation > 0) normal.observedGeneration = generation;
  if (status.conditions) normal.conditions = status.conditions.map((c) => datedCondition(c, old?.conditions, nowIso));
  const tidy = (list: ContainerStatus[]) => list.map((s) => tidyStatus(s, share));
  if (status.containerStatuses) normal.containerStatuses = tidy(status.containerStatuses).sort(byName);
  if (status.ephemeralContainerStatuses) normal.ephemeralContainerStatuses = tidy(status.ephemeralContainerStatuses).sort(byName);
  if (status.initContainerStatuses) {
    const order = new Map((pod.spec.initContainers ?? []).map((c, i) => [c.name, i]));
    const place = (s: ContainerStatus) => order.get(s.name) ?? order.size;
    normal.initContainerStatuses = tidy(status.initContainerStatuses).sort((a, b) => place(a) - place(b));
  }
  return normal;
}

const byName = (a: ContainerStatus, b: ContainerStatus) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);

/** Dates a condition: the old time while its status stays, else `nowIso`. */
export function datedCondition(condition: PodCondition, old: readonly PodCondition[] | undefined, nowIso: string): PodCondition {
  const dated = { ...condition };
  if (datedConditions.has(condition.type)) {
    const before = old?.find((c) => c.type === condition.type);
    dated.lastTransitionTime = before?.status === condition.status ? (before.lastTransitionTime ?? nowIso) : nowIso;
  }
  if (dated.lastTransitionTime) dated.lastTransitionTime = cutToSeconds(dated.lastTransitionTime);
  if (dated.lastProbeTime) dated.lastProbeTime = cutToSeconds(dated.lastProbeTime);
  return dated;
}

function messageShare(pod: Pod): number {
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  const count = containers.length + initContainers.length + ephemeralContainers.length;
  return Math.floor(messageBudget / Math.max(count, 1));
}

function tidyStatus(status: ContainerStatus, share: number): ContainerStatus {
  const tidied = { ...status };
  if (status.state) tidied.state = tidyState(status.state, share);
  if (status.lastState) tidied.lastState = tidyState(status.lastState, share);
  return tidied;
}

function tidyState(state: ContainerState, share: number): ContainerState {
  const tidied: ContainerState = { ...state };
  if (state.running) tidied.running = withSeconds(state.running, 'startedAt');
  if (state.terminated) {
    tidied.terminated = withSeconds(withSeconds(state.terminated, 'startedAt'), 'finishedAt');
    const { message } = state.terminated;
    if (message) tidied.terminated.message = cutBytes(message, share);
  }
  return tidied;
}

function withSeconds<K extends string, T extends { [key in K]?: string | null }>(part: T, key: K): T {
  return part[key] ? { ...part, [key]: cutToSeconds(part[key]) } : { ...part };
}

/** At most `limit` bytes of UTF-8 from the start of `text`, never half a character. */
export function cutBytes(text: string, limit: number): string {
  const whole = Buffer.from(text);
  if (whole.length <= limit) return text;
  let end = limit;
  while (end > 0 && ((whole[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return whole.subarray(0, end).toString();
}
