import type { Operation } from './journal.ts';

/** Milliseconds that a call takes in a quiet runtime: [least, most], as measured of containerd. */
export type Latency = Record<Operation, readonly [number, number]>;

export const usualLatency: Latency = {
  Version: [0.3, 1],
  Status: [0.3, 1],
  RuntimeConfig: [0.3, 1],
  UpdateRuntimeConfig: [0.3, 1],
  RunPodSandbox: [60, 200],
  StopPodSandbox: [20, 80],
  RemovePodSandbox: [5, 25],
  PodSandboxStatus: [0.3, 1.5],
  ListPodSandbox: [0.5, 3],
  CreateContainer: [15, 60],
  StartContainer: [25, 90],
  StopContainer: [1, 5],
  RemoveContainer: [3, 15],
  ListContainers: [0.5, 3],
  ContainerStatus: [0.3, 1.5],
  UpdateContainerResources: [1, 10],
  ReopenContainerLog: [0.5, 2],
  ExecSync: [10, 50],
  GetContainerEvents: [0, 0],
  ListImages: [0.5, 3],
  ImageStatus: [0.3, 1.5],
  PullImage: [200, 3000],
  RemoveImage: [5, 30],
  ImageFsInfo: [0.3, 1],
};

const defaultDeadlineMs = 120_000;

/** The deadline that the contract gives a call (compat-matrix.md §2, §3); 0 means none. `seconds` is the call's own time. */
export function deadlineMs(op: Operation, seconds = 0): number {
  switch (op) {
    case 'RunPodSandbox':
      return 2 * defaultDeadlineMs;
    case 'StopContainer':
      return defaultDeadlineMs + seconds * 1000;
    case 'ExecSync':
      return seconds === 0 ? 0 : defaultDeadlineMs + seconds * 1000;
    case 'PullImage':
    case 'GetContainerEvents':
      return 0;
    default:
      return defaultDeadlineMs;
  }
}
