import { containerId, podUid, sandboxId } from '../../src/api/brands.ts';
import { shouldRestart } from '../../src/api/restart.ts';
import type { Container, Pod, PodSpec } from '../../src/api/types.ts';
import type { ContainerStatus } from '../../src/cri/types.ts';
import type { ObservedContainer, ObservedPod, ObservedSandbox } from '../../src/pleg/types.ts';
import { plan } from '../../src/sync/plan.ts';
import type { PlanInput } from '../../src/sync/plan-input.ts';

export const main: Container = { name: 'main', image: 'i' };
export const pod = (spec: Partial<PodSpec>): Pod => ({
  metadata: { name: 'p', namespace: 'n', uid: 'u' },
  spec: { restartPolicy: 'Always', containers: [main], ...spec },
});

export function sandbox(
  over: { attempt?: number; state?: 'ready' | 'notready'; ip?: string; network?: 'POD' | 'NODE' } = {},
): ObservedSandbox {
  const { attempt = 0, state = 'ready', ip = '10.0.0.2', network = 'POD' } = over;
  const id = sandboxId(`s${attempt}`);
  const status = {
    id,
    metadata: { name: 'p', namespace: 'n', uid: 'u', attempt },
    state,
    createdAt: BigInt(attempt),
    network: { ip, additionalIps: [] },
    namespaceOptions: { network, pid: 'CONTAINER' as const, ipc: 'POD' as const },
    labels: {},
    annotations: {},
    runtimeHandler: '',
  };
  return { id, attempt, state, createdAt: status.createdAt, status };
}

let made = 0;
export function instance(
  name: string,
  state: ObservedContainer['state'],
  over: { exitCode?: number; hash?: string; sandbox?: string } = {},
): ObservedContainer {
  const { exitCode = 0, hash = 'h', sandbox: inside = 's0' } = over;
  return {
    id: containerId(`${name}-${made++}`),
    name,
    sandboxId: sandboxId(inside),
    state,
    hash,
    restartCount: 0,
    status: { exitCode, reason: '', finishedAt: 0n } as ContainerStatus,
  };
}

export const seen = (sandboxes: ObservedSandbox[], containers: ObservedContainer[] = []): ObservedPod => ({
  uid: podUid('u'),
  name: 'p',
  namespace: 'n',
  ips: [],
  sandboxes,
  containers,
  observedAt: 0,
});

export function planOf(of: Pod, observed: ObservedPod, over: Partial<PlanInput> = {}) {
  return plan({
    pod: of,
    observed,
    stoppedSandboxes: new Set(),
    mustStart: new Set(),
    restartingAll: false,
    backOff: () => undefined,
    probe: (_id, kind) => (kind === 'startup' ? 'Success' : 'Unknown'),
    hash: () => 'h',
    shouldRestart: (c, statuses) => shouldRestart(of, c, statuses, false),
    ...over,
  });
}

export const typesOf = (p: ReturnType<typeof planOf>) => p.actions.map((a) => ('name' in a ? `${a.type} ${a.name}` : a.type));
