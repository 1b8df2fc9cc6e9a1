import { containerId, podUid, sandboxId } from '../../src/api/brands.ts';
import type { Container, Pod, PodSpec, PodStatus } from '../../src/api/types.ts';
import type { ContainerState, ContainerStatus as CriContainerStatus, PodSandboxState } from '../../src/cri/types.ts';
import type { ObservedContainer, ObservedPod, ObservedSandbox } from '../../src/pleg/types.ts';
import type { ComputeInput } from '../../src/status/compute.ts';

/** Second `n` of the tests' world, as the runtime's nanoseconds and as the API's text. */
export const nanos = (n: number): bigint => (1_900_000_000n + BigInt(n)) * 1_000_000_000n;
export const time = (n: number): string => new Date((1_900_000_000 + n) * 1000).toISOString().replace('.000Z', 'Z');

export function podWith(
  spec: Partial<PodSpec> & { containers?: Container[] } = {},
  extra: { status?: PodStatus; source?: string; deleted?: boolean } = {},
): Pod {
  return {
    metadata: {
      name: 'p',
      namespace: 'ns',
      uid: 'u',
      ...(extra.source === undefined ? {} : { annotations: { 'kubernetes.io/config.source': extra.source } }),
      ...(extra.deleted ? { deletionTimestamp: time(0) } : {}),
    },
    spec: { containers: [{ name: 'a', image: 'img-a' }], ...spec },
    ...(extra.status ? { status: extra.status } : {}),
  };
}

export interface RecordOptions {
  id?: string;
  state?: ContainerState;
  exitCode?: number;
  reason?: string;
  message?: string;
  restartCount?: number;
  at?: number;
  sandbox?: string;
  status?: Partial<CriContainerStatus>;
}

export function record(name: string, o: RecordOptions = {}): ObservedContainer {
  const { state = 'running', at = 1, restartCount = 0, id = `${name}-${at}` } = o;
  const status: CriContainerStatus = {
    id,
    metadata: { name, attempt: restartCount },
    state,
    createdAt: nanos(at),
    startedAt: state === 'created' ? 0n : nanos(at),
    finishedAt: state === 'exited' ? nanos(at + 1) : 0n,
    exitCode: o.exitCode ?? 0,
    image: { image: `img-${name}` },
    imageRef: `ref-${name}`,
    imageId: `sha256:${name}`,
    reason: o.reason ?? '',
    message: o.message ?? '',
    labels: {},
    annotations: {},
    mounts: [],
    logPath: '',
    ...o.status,
  };
  return { id: containerId(id), name, sandboxId: sandboxId(o.sandbox ?? 's0'), state, hash: 'h', restartCount, status };
}

export function sandbox(id = 's0', state: PodSandboxState = 'ready', attempt = 0): ObservedSandbox {
  return {
    id: sandboxId(id),
    attempt,
    state,
    createdAt: nanos(attempt),
    status: {
      id,
      metadata: { name: 'p', namespace: 'ns', uid: 'u', attempt },
      state,
      createdAt: nanos(attempt),
      network: { ip: '10.0.0.1', additionalIps: [] },
      namespaceOptions: { network: 'POD', pid: 'CONTAINER', ipc: 'POD' },
      labels: {},
      annotations: {},
      runtimeHandler: '',
    },
  };
}

export function observedPod(
  containers: ObservedContainer[],
  sandboxes: ObservedSandbox[] = [sandbox()],
  ips: string[] = ['10.0.0.1'],
): ObservedPod {
  return { uid: podUid('u'), name: 'p', namespace: 'ns', ips, sandboxes, containers, observedAt: 0 };
}

export function inputFor(pod: Pod, over: Partial<ComputeInput> = {}): ComputeInput {
  return {
    pod,
    observed: undefined,
    previous: undefined,
    isTerminal: false,
    nowIso: time(100),
    reasons: new Map(),
    hostIPs: [],
    runtimeName: 'containerd',
    readiness: () => undefined,
    started: () => undefined,
    ...over,
  };
}
