import type { ContainerStatus, Pod } from '../../api/types.ts';

/**
 * The id (with its `runtime://`) of the container whose log is asked for. Throws with the text that users know when there
 * is none (contract http-api §7).
 */
export function logContainerId(pod: Pod, container: string, previous: boolean): string {
  const where = `container "${container}" in pod "${pod.metadata.name}"`;
  const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = pod.status ?? {};
  const all: ContainerStatus[] = [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses];
  const status = all.find((s) => s.name === container);
  if (status === undefined) throw new Error(`${where} is not available`);
  const last = status.lastState?.terminated;
  const { running, terminated, waiting } = status.state ?? {};
  if (previous) return required(last?.containerID, `previous terminated ${where} not found`);
  if (running !== undefined) return required(status.containerID, `${where} is waiting to start - no logs yet`);
  if (terminated !== undefined) return required(terminated.containerID || last?.containerID, `${where} is terminated`);
  if (last !== undefined) return required(last.containerID, `${where} is terminated`);
  if (waiting === undefined) throw new Error(`${where} is waiting to start - no logs yet`);
  if (waiting.reason === 'ErrImagePull') throw new Error(`${where} is waiting to start: image can't be pulled`);
  if (waiting.reason === 'ImagePullBackOff') throw new Error(`${where} is waiting to start: trying and failing to pull image`);
  throw new Error(`${where} is waiting to start: ${waiting.reason ?? ''}`);
}

function required(id: string | undefined, fault: string): string {
  if (id === undefined || id === '') throw new Error(fault);
  return id;
}
