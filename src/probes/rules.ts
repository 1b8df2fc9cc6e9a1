import { isSidecar, restartsAfterExit, shouldRestartAllContainers } from '../api/restart.ts';
import type { Container, ContainerStatus, Pod, PodStatus, Probe } from '../api/types.ts';
import type { ProbeResult, ProbeType } from './types.ts';

/** What one probe worker remembers. A value: the functions below give the next one. */
export interface ProbeState {
  /** The container that the results are about, as in the status; empty before there was one. */
  statusId: string;
  /** No probe until there is another container. */
  onHold: boolean;
  last: ProbeResult | undefined;
  /** How many times in a row `last` was the result. */
  run: number;
}

export const newProbeState: ProbeState = { statusId: '', onHold: false, last: undefined, run: 0 };

export interface LookInput {
  pod: Pod;
  container: Container;
  type: ProbeType;
  spec: Probe;
  /** What the API shows of the pod; undefined while nothing was computed. */
  status: PodStatus | undefined;
  /** Wall-clock milliseconds. */
  now: number;
  /** Wall-clock milliseconds: a container that started earlier keeps its state over the start of this agent. */
  keepBefore: number;
}

export interface Look {
  state: ProbeState;
  /** The container whose results are to be dropped, as in the status. */
  drop?: string;
  /** A result to set for the container in `state`. */
  set?: ProbeResult;
  next: 'wait' | 'probe' | 'end';
}

/** What holds before the first result. */
export const initialResult: { [T in ProbeType]: ProbeResult } = { readiness: 'Failure', liveness: 'Success', startup: 'Unknown' };

/** What a worker whose turn it is has to do (contract: pod-lifecycle.md §8, in its order). Pure. */
export function look(before: ProbeState, input: LookInput): Look {
  const { pod, container, type, spec, status } = input;
  if (status === undefined) return { state: before, next: 'wait' };
  if (status.phase === 'Failed' || status.phase === 'Succeeded') return { state: before, next: 'end' };
  const current = statusOf(status, container.name);
  if (current === undefined) return { state: before, next: 'wait' };
  const adopted = adopt(before, current, input);
  const { state } = adopted;
  if (state.onHold) return { ...adopted, next: 'wait' };
  if (current.state?.running === undefined) return { ...adopted, set: 'Failure', next: mayRunAgain(input, current) ? 'wait' : 'end' };
  const isDeleted = pod.metadata.deletionTimestamp !== undefined && pod.metadata.deletionTimestamp !== null;
  // Success, so that nothing is restarted on the way out.
  if (isDeleted && type !== 'readiness') return { ...adopted, set: 'Success', next: 'end' };
  if (isTooEarly(spec, current.state.running.startedAt, input.now)) return { ...adopted, next: 'wait' };
  const started = current.started === true;
  return { ...adopted, next: started === (type === 'startup') ? 'wait' : 'probe' };
}

function adopt(before: ProbeState, current: ContainerStatus, { container, type, keepBefore }: LookInput): Omit<Look, 'next'> {
  const statusId = current.containerID ?? '';
  if (before.statusId === statusId) return { state: before };
  const state: ProbeState = { ...before, statusId, onHold: false };
  const drop = before.statusId === '' ? {} : { drop: before.statusId };
  const startedAt = current.state?.running?.startedAt;
  const isOld = startedAt && Date.parse(startedAt) < keepBefore;
  if (isOld !== true) return { state, ...drop, set: initialResult[type] };
  // The start of containers behind a sidecar hangs on a result being there.
  const hasStarted = type === 'startup' && isSidecar(container) && current.started === true;
  return hasStarted ? { state, ...drop, set: 'Success' } : { state, ...drop };
}

export interface Judgement {
  state: ProbeState;
  /** The result that now holds; undefined while a threshold is not reached. */
  set: ProbeResult | undefined;
}

/** Counts a result against its threshold. Pure. */
export function judge(before: ProbeState, spec: Probe, type: ProbeType, result: 'Success' | 'Failure'): Judgement {
  const run = before.last === result ? before.run + 1 : 1;
  const state = { ...before, last: result, run };
  const needed = result === 'Failure' ? (spec.failureThreshold ?? 3) : (spec.successThreshold ?? 1);
  if (run < needed) return { state, set: undefined };
  const holds = type === 'startup' || (type === 'liveness' && result === 'Failure');
  return { state: holds ? { ...state, onHold: true, run: 0 } : state, set: result };
}

/** The status of a container that the runtime knows. */
export function statusOf(status: PodStatus, name: string): ContainerStatus | undefined {
  const lists = [status.containerStatuses, status.initContainerStatuses];
  return lists.map((list) => list?.find((s) => s.name === name)).find((s) => s?.containerID);
}

function isTooEarly({ initialDelaySeconds = 0 }: Probe, startedAt: string | null | undefined, now: number): boolean {
  return initialDelaySeconds > 0 && Math.trunc((now - Date.parse(startedAt ?? '')) / 1000) < initialDelaySeconds;
}

function mayRunAgain({ pod, container, status }: LookInput, current: ContainerStatus): boolean {
  const terminated = current.state?.terminated;
  if (terminated === undefined) return true;
  return restartsAfterExit(container, pod.spec, terminated.exitCode) || shouldRestartAllContainers(pod, [], status);
}
