import { PodTerminationGracePeriodAnnotation, PodUidLabel } from '../api/annotations.ts';
import { type PodUid, podUid } from '../api/brands.ts';
import type { Container, PodSandbox } from '../cri/types.ts';

/** How many dead containers may stay (contract: pod-lifecycle.md §16). A negative number means no bound. */
export interface ContainerGcPolicy {
  /** `--minimum-container-ttl-duration`: younger ones stay, in milliseconds since their creation. */
  minAgeMs: number;
  /** `--maximum-dead-containers-per-container`. */
  maxPerContainer: number;
  /** `--maximum-dead-containers`. */
  maxTotal: number;
}

export const defaultContainerGcPolicy: ContainerGcPolicy = { minAgeMs: 0, maxPerContainer: 1, maxTotal: -1 };

/** A container that does not run. */
export interface DeadContainer {
  id: string;
  uid: PodUid;
  name: string;
  createdAt: bigint;
  /** The runtime cannot say whether it runs: it must be stopped before it is removed. */
  unknown: boolean;
  /** Seconds, as the agent wrote them into the container's annotations. */
  graceSeconds: number;
}

/** The containers that could go: not running, old enough, and the kubelet's own. Newest first. */
export function evictableContainers(all: readonly Container[], minAgeMs: number, nowMs: number): DeadContainer[] {
  const newest = BigInt(Math.floor(nowMs - minAgeMs)) * 1_000_000n;
  return all
    .filter((c) => c.state !== 'running' && c.createdAt <= newest && c.labels[PodUidLabel])
    .map((c) => ({
      id: c.id,
      uid: podUid(c.labels[PodUidLabel] ?? ''),
      name: c.metadata.name,
      createdAt: c.createdAt,
      unknown: c.state === 'unknown',
      graceSeconds: seconds(c.annotations[PodTerminationGracePeriodAnnotation]),
    }))
    .sort(newestFirst);
}

/**
 * The dead containers to remove, oldest first: all of pods that are `gone`, then the oldest beyond the bound of each
 * container name, then the oldest beyond the bound of the node (an equal share for each name first, at least one).
 */
export function containersToRemove(
  dead: readonly DeadContainer[],
  policy: ContainerGcPolicy,
  gone: (uid: PodUid) => boolean,
): DeadContainer[] {
  const remove = new Set(dead.filter((c) => gone(c.uid)));
  const units = Map.groupBy(dead.filter((c) => !remove.has(c)).sort(newestFirst), (c) => `${c.uid}/${c.name}`);
  const bound = (max: number) => {
    for (const unit of units.values()) for (const c of unit.splice(max)) remove.add(c);
  };
  const kept = () => [...units.values()].flat();
  if (policy.maxPerContainer >= 0) bound(policy.maxPerContainer);
  if (policy.maxTotal >= 0 && kept().length > policy.maxTotal) {
    const living = [...units.values()].filter((u) => u.length > 0).length;
    bound(Math.max(1, Math.floor(policy.maxTotal / living)));
    for (const c of kept().sort(newestFirst).slice(policy.maxTotal)) remove.add(c);
  }
  return [...remove].sort((a, b) => newestFirst(b, a));
}

/**
 * The sandboxes to remove, oldest first: neither ready nor holding a container, and not the newest of a pod that is
 * still wanted.
 */
export function sandboxesToRemove(
  sandboxes: readonly PodSandbox[],
  containers: readonly Container[],
  gone: (uid: PodUid) => boolean,
): PodSandbox[] {
  const holding = new Set(containers.map((c) => c.podSandboxId));
  const remove: PodSandbox[] = [];
  for (const [uid, ofPod] of Map.groupBy(sandboxes, (s) => podUid(s.metadata.uid))) {
    const sorted = [...ofPod].sort(newestFirst);
    remove.push(...(gone(uid) ? sorted : sorted.slice(1)).filter((s) => s.state !== 'ready' && !holding.has(s.id)));
  }
  return remove.sort((a, b) => newestFirst(b, a));
}

/** A container of an observed pod: the part that is read here. */
export interface PodMember {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly status: { readonly createdAt: bigint };
}

/**
 * The exited containers of one pod to remove after `diedId` ended: all of that container's name but the newest `keep`;
 * with `diedId` undefined (the pod is over) all exited ones of the pod beyond `keep`.
 */
export function deadContainersOfPod<T extends PodMember>(observed: readonly T[], diedId: string | undefined, keep: number): T[] {
  const died = diedId === undefined ? undefined : observed.find((c) => c.id === diedId);
  if (diedId !== undefined && !died) return [];
  return observed
    .filter((c) => c.state === 'exited' && (!died || c.name === died.name))
    .sort((a, b) => newestFirst(a.status, b.status))
    .slice(keep);
}

/** The UID in the name of a pod's log directory, `{namespace}_{name}_{uid}`; undefined when it is no such name. */
export function uidOfLogDirectory(name: string): PodUid | undefined {
  const [namespace, pod, uid, ...more] = name.split('_');
  return namespace && pod && uid && more.length === 0 ? podUid(uid) : undefined;
}

/** The container id in the name of a link under /var/log/containers, `{pod}_{ns}_{container}-{id}.log`. */
export function containerIdOfLogLink(name: string): string | undefined {
  if (!name.endsWith('.log')) return undefined;
  const id = name.slice(name.lastIndexOf('-') + 1, -'.log'.length);
  // Runtimes take an id as short as 6 characters; less would name another container.
  return name.includes('-') && id.length >= 6 ? id : undefined;
}

function newestFirst(a: { createdAt: bigint }, b: { createdAt: bigint }): number {
  return a.createdAt === b.createdAt ? 0 : a.createdAt > b.createdAt ? -1 : 1;
}

function seconds(text: string | undefined): number {
  const value = Number(text ?? 0);
  return Number.isSafeInteger(value) && value > 0 ? value : 0;
}
