import { isIP } from 'node:net';
import { ContainerHashAnnotation, ContainerNameLabel, ContainerRestartCountAnnotation, PodUidLabel } from '../api/annotations.ts';
import { containerId, type PodUid, podUid, sandboxId } from '../api/brands.ts';
import { isCriError } from '../cri/errors.ts';
import type { CriRuntime } from '../cri/ports.ts';
import type { Container, ContainerStatus, PodSandbox, PodSandboxStatus } from '../cri/types.ts';
import type { Clock } from '../host/clock.ts';
import type { ObservedContainer, ObservedPod, ObservedSandbox } from './types.ts';

type Runtime = Pick<CriRuntime, 'listPodSandbox' | 'listContainers' | 'podSandboxStatus' | 'containerStatus'>;

export interface ObserverDeps {
  runtime: Runtime;
  clock: Clock;
  /** What an exited container said before it ended (contract: pod-lifecycle §9); '' when nothing. */
  terminationMessage(status: ContainerStatus): Promise<string>;
}

/**
 * Reads the state of one pod from the runtime: two filtered lists, then the status of each member. The statuses of
 * exited containers never change any more and are kept, so that a pod with history costs no more than a fresh one.
 */
export class Observer {
  readonly #deps: ObserverDeps;
  readonly #exited = new Map<string, ContainerStatus>();

  constructor(deps: ObserverDeps) {
    this.#deps = deps;
  }

  /** Rejects with CriError when a list or a status call fails; members that vanish in between are left out. */
  async observe(uid: PodUid, signal?: AbortSignal): Promise<ObservedPod> {
    const { runtime, clock } = this.#deps;
    const observedAt = clock.monotonic();
    const opts = signal === undefined ? {} : { signal };
    const labelSelector = { [PodUidLabel]: uid };
    const [sandboxes, containers] = await Promise.all([
      runtime.listPodSandbox({ labelSelector }, opts),
      runtime.listContainers({ labelSelector }, opts),
    ]);
    const [sandboxStatuses, containerStatuses] = await Promise.all([
      Promise.all(sandboxes.map((s) => orGone(runtime.podSandboxStatus(s.id, opts)))),
      Promise.all(containers.map((c) => this.#containerStatus(c, opts))),
    ]);
    return assemble(uid, sandboxes, sandboxStatuses, containers, containerStatuses, observedAt);
  }

  async #containerStatus(container: Container, opts: { signal?: AbortSignal }): Promise<ContainerStatus | undefined> {
    const known = this.#exited.get(container.id);
    if (known !== undefined) return known;
    const status = await orGone(this.#deps.runtime.containerStatus(container.id, opts));
    if (status === undefined || status.state !== 'exited') return status;
    const said = await this.#deps.terminationMessage(status);
    const message = status.message !== '' && said !== '' ? `${status.message}: ${said}` : status.message || said;
    const full = { ...status, message };
    this.#exited.set(container.id, full);
    return full;
  }

  /** Drops what is kept of containers that the runtime no longer lists. */
  forget(alive: ReadonlySet<string>): void {
    for (const id of this.#exited.keys()) if (!alive.has(id)) this.#exited.delete(id);
  }
}

async function orGone<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (err) {
    if (isCriError(err, 'NotFound')) return undefined;
    throw err;
  }
}

function assemble(
  uid: PodUid,
  list: PodSandbox[],
  sandboxStatuses: (PodSandboxStatus | undefined)[],
  listed: Container[],
  containerStatuses: (ContainerStatus | undefined)[],
  observedAt: number,
): ObservedPod {
  const sandboxes = sandboxStatuses
    .filter((s) => s !== undefined)
    .map(observedSandbox)
    .sort((a, b) => newestFirst(a.createdAt, b.createdAt) || b.attempt - a.attempt);
  const containers: ObservedContainer[] = [];
  containerStatuses.forEach((status, i) => {
    const observed = status && observedContainer(status, listed[i]?.podSandboxId ?? '');
    if (observed !== undefined) containers.push(observed);
  });
  containers.sort((a, b) => newestFirst(a.status.createdAt, b.status.createdAt) || b.restartCount - a.restartCount);
  const meta = sandboxes[0]?.status.metadata ?? list[0]?.metadata;
  return {
    uid: podUid(uid),
    name: meta?.name ?? '',
    namespace: meta?.namespace ?? '',
    ips: ipsOf(sandboxes),
    sandboxes,
    containers,
    observedAt,
  };
}

const newestFirst = (a: bigint, b: bigint) => (a === b ? 0 : a > b ? -1 : 1);

function observedSandbox(status: PodSandboxStatus): ObservedSandbox {
  return { id: sandboxId(status.id), attempt: status.metadata.attempt, state: status.state, createdAt: status.createdAt, status };
}

/** A container without the pod labels is not ours and is left out (contract: compat-matrix §4). */
function observedContainer(status: ContainerStatus, sandbox: string): ObservedContainer | undefined {
  const name = status.labels[ContainerNameLabel];
  if (name === undefined || name === '') return undefined;
  const count = Number(status.annotations[ContainerRestartCountAnnotation] ?? 0);
  return {
    id: containerId(status.id),
    name,
    sandboxId: sandboxId(sandbox),
    state: status.state,
    hash: status.annotations[ContainerHashAnnotation] ?? '',
    restartCount: Number.isSafeInteger(count) && count >= 0 ? count : 0,
    status,
  };
}

/** IPs of the newest ready sandbox. An address that does not parse drops them all (contract: compat-matrix §4). */
function ipsOf(sandboxes: ObservedSandbox[]): string[] {
  const ready = sandboxes.find((s) => s.state === 'ready');
  const network = ready?.status.network;
  if (network === undefined || network.ip === '') return [];
  const all = [network.ip, ...network.additionalIps];
  return all.every((ip) => isIP(ip) !== 0) ? all : [];
}
