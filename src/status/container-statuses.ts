import type { ContainerKind } from '../api/pod.ts';
import { isSidecar, newestRecord, RestartingAllContainers, shouldRestart } from '../api/restart.ts';
import { formatTime } from '../api/time.ts';
import type { Container, ContainerState, ContainerStatus, Pod, ResourceRequirements } from '../api/types.ts';
import type { ObservedContainer } from '../pleg/types.ts';
import { allocatedRequests, reportedResources } from './container-resources.ts';

import { volumeMountStatuses } from './volume-mount-status.ts';

/** Why a container is not running though it should be: the outcome of the last try to start it. */
export interface StartFailure {
  reason: string;
  message: string;
}

/** What the statuses of one pod are made from. */
export interface ContainerStatusInput {
  pod: Pod;
  /** Newest first, of the whole pod. */
  observed: readonly ObservedContainer[];
  /** By container name. */
  reasons: ReadonlyMap<string, StartFailure>;
  /** Such as `containerd`: the prefix of container ids. */
  runtimeName: string;
  /** All containers are being removed to start anew (`shouldRestartAllContainers`). */
  restartingAll: boolean;
  /** The pod's runtime handler can mount recursively read-only. */
  recursiveReadOnly: boolean;
  /** By container name: CPU and memory in force, for what the runtime does not report. */
  actuated?: (container: string) => ResourceRequirements | undefined;
}

const unknownReason = 'ContainerStatusUnknown';
const removedMessage = 'The container is removed because RestartAllContainers in place';

/**
 * The API statuses of `containers` (all of one kind, with their earlier statuses), without probe results: `ready` is
 * false and `started` is unset unless kept from before. Init containers stay in spec order, others are sorted by name.
 * Source: contract pod-lifecycle.md §14, events.md §4.
 */
export function containerStatuses(
  input: ContainerStatusInput,
  kind: ContainerKind,
  containers: readonly Container[],
  previous: readonly ContainerStatus[],
): ContainerStatus[] {
  const before = new Map(previous.map((s) => [s.name, s]));
  const statuses = containers.map((container) => {
    const old = before.get(container.name);
    const records = input.observed.filter((c) => c.name === container.name);
    const [newest, older] = records;
    let status: ContainerStatus;
    if (newest) {
      status = fromRecord(input, container, newest, old);
      if (older) status.lastState = fromRecord(input, container, older, old).state ?? {};
    } else {
      status = vanished(input, container, old);
    }
    return waitingWhenDue(input, kind, container, newest, status);
  });
  return kind === 'init' ? statuses : statuses.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

/** The status of a container that the runtime knows. */
function fromRecord(
  input: ContainerStatusInput,
  container: Container,
  record: ObservedContainer,
  old: ContainerStatus | undefined,
): ContainerStatus {
  const containerID = `${input.runtimeName}://${record.id}`;
  const status: ContainerStatus = {
    name: record.name,
    state: stateOf(record, containerID),
    ready: false,
    restartCount: record.restartCount,
    image: record.status.image.image,
    imageID: record.status.imageRef,
    containerID,
    ...mounts(input, container, old),
  };
  if (old) {
    status.restartCount = Math.max(status.restartCount, old.restartCount);
    // Where old containers were removed with their ends (RestartAllContainers), only the earlier status still knows them.
    const lastEnd = (old.containerID !== containerID && old.state?.terminated) || old.lastState?.terminated;
    if (lastEnd) status.lastState = { terminated: lastEnd };
    if (record.state === 'running' && old.state?.terminated && old.restartCount >= record.restartCount) {
      status.restartCount = old.restartCount + 1;
    }
    if (record.state === 'unknown' && old.state?.running) {
      // It ran, and now the runtime cannot say: it must not look as if it had never run, or it would run twice.
      const reason = input.restartingAll ? RestartingAllContainers : unknownReason;
      status.state = { terminated: lostEnd(reason, 'The container could not be located when the pod was terminated') };
      status.restartCount = old.restartCount + 1;
    }
    // Over a restart of the agent its startup probe has no result yet; another container must earn it anew.
    if (record.state === 'running' && old.containerID === containerID && old.started !== undefined) status.started = old.started;
  }
  const resources = reportedResources(container, record, containerID, old, input.actuated?.(container.name));
  if (resources) status.resources = resources;
  const allocated = allocatedRequests(container);
  if (allocated) status.allocatedResources = allocated;
  const { user } = record.status;
  if (user) status.user = { linux: { uid: user.uid, gid: user.gid, ...nonEmpty('supplementalGroups', user.supplementalGroups) } };
  return status;
}

function stateOf(record: ObservedContainer, containerID: string): ContainerState {
  const { status } = record;
  switch (record.state) {
    case 'running':
      return { running: { startedAt: formatTime(status.startedAt) } };
    case 'exited':
      return {
        terminated: {
          exitCode: status.exitCode,
          ...nonEmpty('reason', status.reason),
          ...nonEmpty('message', status.message),
          startedAt: formatTime(status.startedAt),
          finishedAt: formatTime(status.finishedAt),
          containerID,
        },
      };
    case 'created':
    case 'unknown':
      return { waiting: {} };
  }
}

/** The status of a container that the runtime does not know: not yet made, or lost. */
function vanished(input: ContainerStatusInput, container: Container, old: ContainerStatus | undefined): ContainerStatus {
  const restarting = input.restartingAll && old !== undefined && old.state?.waiting === undefined;
  if (old?.state?.terminated && !restarting) return { ...old };
  const status: ContainerStatus = {
    name: container.name,
    state: { waiting: { reason: (input.pod.spec.initContainers ?? []).length > 0 ? 'PodInitializing' : 'ContainerCreating' } },
    ready: false,
    restartCount: old?.restartCount ?? 0,
    image: container.image ?? '',
    imageID: '',
    ...(old?.lastState ? { lastState: old.lastState } : {}),
    ...mounts(input, container, old),
  };
  if (restarting) {
    status.state = { waiting: { reason: RestartingAllContainers, message: removedMessage } };
    status.lastState = { terminated: lostEnd(RestartingAllContainers, removedMessage) };
    status.restartCount += 1;
  } else if (old?.state?.running && !old.lastState?.terminated) {
    // It ran and is gone without an end: show it as stopped, or the pod would fall back to Pending.
    const message = 'The container could not be located when the pod was deleted.  The container used to be Running';
    status.lastState = { terminated: lostEnd(unknownReason, message) };
    if (!input.pod.metadata.deletionTimestamp) status.restartCount += 1;
  }
  return status;
}

/** A container that the next sync starts is Waiting, once a try to start it failed; its end moves to `lastState`. */
function waitingWhenDue(
  input: ContainerStatusInput,
  kind: ContainerKind,
  container: Container,
  newest: ObservedContainer | undefined,
  status: ContainerStatus,
): ContainerStatus {
  const { pod, observed } = input;
  if (kind === 'init') {
    if (newest?.state === 'exited' && newest.status.exitCode === 0) return status;
    if (!newest && !isSidecar(container) && status.state?.waiting && !input.restartingAll && anyRegularCreated(pod, observed)) {
      const message =
        'Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally';
      return { ...status, state: { terminated: { exitCode: 0, reason: 'Completed', message, startedAt: null, finishedAt: null } } };
    }
  }
  const deleting = Boolean(pod.metadata.deletionTimestamp);
  const failure = input.reasons.get(container.name);
  if (!failure || !shouldRestart(pod, container, observed, deleting)) return status;
  const due: ContainerStatus = { ...status, state: { waiting: { reason: failure.reason, ...nonEmpty('message', failure.message) } } };
  if (status.state?.terminated) due.lastState = { terminated: status.state.terminated };
  return due;
}

/** True when the runtime made a regular container of the pod, in whatever sandbox. */
function anyRegularCreated(pod: Pod, observed: readonly ObservedContainer[]): boolean {
  return pod.spec.containers.some((c) => {
    const newest = newestRecord(observed, c.name);
    return newest !== undefined && newest.state !== 'unknown';
  });
}

/** An end whose code nobody saw: 137 says that it was no success. */
function lostEnd(reason: string, message: string) {
  return { exitCode: 137, reason, message, startedAt: null, finishedAt: null };
}

function mounts(
  input: ContainerStatusInput,
  container: Container,
  old: ContainerStatus | undefined,
): Pick<ContainerStatus, 'volumeMounts'> {
  const list = old?.volumeMounts ?? volumeMountStatuses(container, input.recursiveReadOnly);
  return list.length > 0 ? { volumeMounts: list } : {};
}

function nonEmpty<K extends string, V extends string | readonly unknown[]>(key: K, value: V): Partial<Record<K, V>> {
  return value.length > 0 ? ({ [key]: value } as Record<K, V>) : {};
}
