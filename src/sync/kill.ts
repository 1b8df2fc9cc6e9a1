import type { ContainerId } from '../api/brands.ts';
import { isSidecar } from '../api/restart.ts';
import type { Container, Pod } from '../api/types.ts';
import { isCriError } from '../cri/errors.ts';
import { containerEventObject } from '../observe/event-object.ts';
import type { ObservedContainer, ObservedPod } from '../pleg/types.ts';
import type { KillReason } from './actions.ts';
import type { LaneMemory, SyncDeps } from './context.ts';
import { SyncError } from './errors.ts';
import { graceSeconds, MINIMUM_STOP_SECONDS } from './grace.ts';

type KillDeps = Pick<SyncDeps, 'runtime' | 'hooks' | 'clock' | 'log' | 'events'>;

export interface ContainerKill {
  id: ContainerId;
  name: string;
  message: string;
  reason?: KillReason;
  /** Seconds; see graceSeconds. */
  override?: number | undefined;
  /** Awaited after the preStop hook: other containers that must end first. The time comes out of the grace. */
  turn?: Promise<unknown>;
}

/**
 * Stops one container: event, preStop hook inside the grace, its turn, StopContainer with what is left (at least two
 * seconds). A container that is already gone is no error.
 */
export async function killContainer(deps: KillDeps, pod: Pod, podIps: string[], kill: ContainerKill, signal: AbortSignal): Promise<void> {
  const { clock, runtime } = deps;
  deps.events.event(containerEventObject(pod, kill.name), 'Normal', 'Killing', kill.message);
  const grace = graceSeconds(pod, kill.name, kill.reason, kill.override);
  const began = clock.monotonic();
  const left = () => grace - Math.floor((clock.monotonic() - began) / 1000);
  const spec = allContainers(pod).find((c) => c.name === kill.name);
  const preStop = spec?.lifecycle?.preStop;
  if (spec !== undefined && preStop !== undefined && grace > 0) {
    const hook = deps.hooks.run(preStop, { pod, container: spec, containerId: kill.id, podIps }, signal).catch((err: unknown) => {
      deps.log.error(err, 'PreStop hook failed', { pod: podRef(pod), containerName: kill.name });
      deps.events.event(containerEventObject(pod, kill.name), 'Warning', 'FailedPreStopHook', 'PreStopHook failed');
    });
    await within(deps, hook, left() * 1000, signal);
  }
  if (kill.turn !== undefined) await within(deps, kill.turn, left() * 1000, signal);
  try {
    await runtime.stopContainer(kill.id, Math.max(MINIMUM_STOP_SECONDS, left()), { signal });
  } catch (err) {
    if (isCriError(err, 'NotFound')) return;
    throw new SyncError('KillContainerError', textOf(err), { container: kill.name, cause: err });
  }
}

/** Waits for `work`, at most `ms`, and not beyond an abort. */
async function within(deps: KillDeps, work: Promise<unknown>, ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0) return;
  const enough = new AbortController();
  const either = AbortSignal.any([signal, enough.signal]);
  const timeout = deps.clock.sleep(ms, either).catch(() => undefined);
  await Promise.race([work, timeout]);
  enough.abort();
  signal.throwIfAborted();
}

/**
 * Stops all containers of a pod side by side (a sidecar after the regular containers and the sidecars behind it), then
 * every sandbox. All are tried; the first error is thrown. Sandboxes that were stopped are noted in `memory`.
 */
export async function killPod(
  deps: KillDeps,
  pod: Pod,
  observed: ObservedPod,
  memory: Pick<LaneMemory, 'stoppedSandboxes'>,
  override: number | undefined,
  signal: AbortSignal,
): Promise<void> {
  const alive = observed.containers.filter((c) => c.state === 'running' || c.state === 'unknown');
  const done = new Map(alive.map((c) => [c.id, Promise.withResolvers<void>()]));
  const kills = alive.map(async (c) => {
    try {
      const turn = Promise.all(mustEndBefore(pod, c, alive).map((other) => done.get(other.id)?.promise ?? Promise.resolve()));
      await killContainer(
        deps,
        pod,
        observed.ips,
        { id: c.id, name: c.name, message: `Stopping container ${c.name}`, override, turn },
        signal,
      );
    } finally {
      done.get(c.id)?.resolve();
    }
  });
  throwFirst(await Promise.allSettled(kills));
  const stops = observed.sandboxes.map(async (s) => {
    try {
      await deps.runtime.stopPodSandbox(s.id, { signal });
    } catch (err) {
      if (!isCriError(err, 'NotFound')) throw new SyncError('KillPodSandboxError', textOf(err), { cause: err });
    }
    memory.stoppedSandboxes.add(s.id);
  });
  throwFirst(await Promise.allSettled(stops));
}

/** The containers that have to end before `c` may be stopped: none for a regular one. */
function mustEndBefore(pod: Pod, c: ObservedContainer, alive: readonly ObservedContainer[]): ObservedContainer[] {
  const init = pod.spec.initContainers ?? [];
  const at = init.findIndex((i) => i.name === c.name);
  const sidecar = init[at];
  if (sidecar === undefined || !isSidecar(sidecar)) return [];
  const later = new Set(init.slice(at + 1).map((i) => i.name));
  const regular = new Set(pod.spec.containers.map((r) => r.name));
  return alive.filter((o) => regular.has(o.name) || later.has(o.name));
}

function throwFirst(results: PromiseSettledResult<void>[]): void {
  for (const r of results) if (r.status === 'rejected') throw r.reason;
}

function allContainers(pod: Pod): Container[] {
  return [...(pod.spec.initContainers ?? []), ...pod.spec.containers, ...(pod.spec.ephemeralContainers ?? [])];
}

const podRef = (pod: Pod) => `${pod.metadata.namespace}/${pod.metadata.name}`;

export const textOf = (err: unknown) => (err instanceof Error ? err.message : String(err));
