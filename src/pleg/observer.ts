import { isIP } from 'node:net';
import { ContainerHashAnnotation, ContainerNameLabel, ContainerRestartCountAnnotation, PodUidLabel } from '../api/annotations.ts';
import { containerId, type PodUid, sandboxId } from '../api/brands.ts';
import { isCriError } from '../cri/errors.ts';
import type { CriRuntime } from '../cri/ports.ts';
import type { ContainerStatus, PodSandboxStatus } from '../cri/types.ts';
import type { Clock } from '../host/clock.ts';
import type { ObservedContainer, ObservedPod, ObservedSandbox } from './types.ts';

type Runtime = Pick<CriRuntime, 'listPodSandbox' | 'listContainers' | 'podSandboxStatus' | 'containerStatus'>;

export interface ObserverDeps {
  runtime: Runtime;
  clock: Clock;
  /** What an exited container said before it ended (contract: pod-lifecycle §9); '' when nothing. */
  terminationMessage(status: ContainerStatus): Promise<string>;
}

/** Members of a pod that were just made: what `update` reads. */
export interface MadeMembers {
  sandboxes: readonly string[];
  containers: readonly { id: string; sandboxId: string }[];
}

/** A pod of which the runtime has nothing. */
export function nothingObserved(uid: PodUid, observedAt: number): ObservedPod {
  return { uid, name: '', namespace: '', ips: [], sandboxes: [], containers: [], observedAt };
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
    const found = withMembers(
      uid,
      sandboxStatuses.filter((s) => s !== undefined).map(observedSandbox),
      observedContainers(containerStatuses, (i) => containers[i]?.podSandboxId ?? ''),
      observedAt,
    );
    const listed = sandboxes[0]?.metadata;
    return found.name === '' && listed !== undefined ? { ...found, name: listed.name, namespace: listed.namespace } : found;
  }

  /**
   * The pod after something of it was made: `previous`, with the named members read anew and nothing else asked. What
   * happened to the others meanwhile is found by the relist.
   */
  async update(previous: ObservedPod, made: MadeMembers, signal?: AbortSignal): Promise<ObservedPod> {
    const { runtime, clock } = this.#deps;
    const observedAt = clock.monotonic();
    const opts = signal === undefined ? {} : { signal };
    const [sandboxes, containers] = await Promise.all([
      Promise.all(made.sandboxes.map((id) => orGone(runtime.podSandboxStatus(id, opts)))),
      Promise.all(made.containers.map(({ id }) => this.#containerStatus({ id }, opts))),
    ]);
    const fresh = new Set<string>([...made.sandboxes, ...made.containers.map((c) => c.id)]);
    const next = withMembers(
      previous.uid,
      [...previous.sandboxes.filter((s) => !fresh.has(s.id)), ...sandboxes.filter((s) => s !== undefined).map(observedSandbox)],
      [
        ...previous.containers.filter((c) => !fresh.has(c.id)),
        ...observedContainers(containers, (i) => made.containers[i]?.sandboxId ?? ''),
      ],
      observedAt,
    );
    return next.name === '' ? { ...next, name: previous.name, namespace: previous.namespace } : next;
  }

  async #containerStatus(container: { id: string }, opts: { signal?: AbortSignal }): Promise<ContainerStatus | undefined> {
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

function withMembers(uid: PodUid, sandboxes: ObservedSandbox[], containers: ObservedContainer[], observedAt: number): ObservedPod {
  sandboxes.sort((a, b) => newestFirst(a.createdAt, b.createdAt) || b.attempt - a.attempt);
  containers.sort((a, b) => newestFirst(a.status.createdAt, b.status.createdAt) || b.restartCount - a.restartCount);
  const meta = sandboxes[0]?.status.metadata;
  return { uid, name: meta?.name ?? '', namespace: meta?.namespace ?? '', ips: ipsOf(sandboxes), sandboxes, containers, observedAt };
}

/** Statuses that are there and ours, each with the sandbox that it belongs to. */
function observedContainers(statuses: readonly (ContainerStatus | undefined)[], sandboxOf: (i: number) => string): ObservedContainer[] {
  return statuses.flatMap((status, i) => {
    const observed = status && observedContainer(status, sandboxOf(i));
    return observed === undefined ? [] : [observed];
  });
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
