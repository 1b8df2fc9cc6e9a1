import { findContainer } from '../api/pod.ts';
import { isCriError } from '../cri/errors.ts';
import type { ActionOf, PodAction, PodActionType } from './actions.ts';
import type { StageContext, SyncDeps } from './context.ts';
import { SyncError, type SyncErrorCode } from './errors.ts';
import { killContainer, killPod, textOf } from './kill.ts';
import { runSandbox } from './run-sandbox.ts';
import { startContainer } from './start-container.ts';

type Effect<T extends PodActionType> = (deps: SyncDeps, ctx: StageContext, action: ActionOf<T>) => Promise<void>;

/** From action to effect: the only way in which a plan reaches the runtime. */
const effects: { [T in PodActionType]: Effect<T> } = {
  async KillPod(deps, ctx, action) {
    await killPod(deps, ctx.pod, ctx.observed, ctx.memory, ctx.graceOverride, ctx.signal);
    if (action.purgeInit) await purgeInit(deps, ctx);
  },
  RunPodSandbox: runSandbox,
  async KillContainer(deps, ctx, { id, name, reason, message, thenStart }) {
    if (reason === 'resize') await deps.resizer?.ready();
    await killContainer(deps, ctx.pod, ctx.observed.ips, { id, name, reason, message }, ctx.signal);
    if (thenStart) ctx.memory.mustStart.add(name);
  },
  async RemoveContainer(deps, _ctx, { id, name }) {
    // Only tidiness: what does not go now is left to the collector.
    await deps.remover
      .remove(id)
      .catch((err: unknown) => deps.log.error(err, 'Failed to remove container', { containerName: name, containerID: id }));
  },
  async ResetContainer(deps, ctx, { id, name, stop }) {
    const kill = { id, name, message: `Stopping container ${name}`, override: 0 };
    if (stop) await killContainer(deps, ctx.pod, ctx.observed.ips, kill, ctx.signal);
    await deps.remover.remove(id, true);
    ctx.memory.mustStart.delete(name);
  },
  async ResizePod(deps, ctx, action) {
    await deps.resizer?.resize(ctx.pod, action, ctx.signal);
  },
  StartContainer: (deps, ctx, { kind, name }) => startContainer(deps, ctx, kind, name),
};

/**
 * Runs the actions of one stage side by side, but nothing starts behind a container with a postStart hook before that
 * hook has ended. What fails is put into `ctx.failures`; only an abort is thrown.
 */
export async function execute(deps: SyncDeps, ctx: StageContext, actions: readonly PodAction[]): Promise<void> {
  const run = async (action: PodAction, after: Promise<void>): Promise<void> => {
    try {
      if (action.type === 'StartContainer') await after;
      ctx.signal.throwIfAborted();
      await (effects[action.type] as Effect<PodActionType>)(deps, ctx, action);
    } catch (err) {
      const failure = syncError(err, action);
      ctx.failures.set(failure.container ?? '', failure);
    }
  };
  let hooked = Promise.resolve();
  const all = actions.map((action) => {
    const done = run(action, hooked);
    if (action.type === 'StartContainer' && findContainer(ctx.pod, action.name)?.container.lifecycle?.postStart !== undefined)
      hooked = done;
    return done;
  });
  await Promise.all(all);
  ctx.signal.throwIfAborted();
}

/** The old instances of init containers: a new sandbox begins with the first one again. */
async function purgeInit(deps: SyncDeps, ctx: StageContext): Promise<void> {
  const init = new Set((ctx.pod.spec.initContainers ?? []).map((c) => c.name));
  for (const c of ctx.observed.containers) {
    if (!init.has(c.name)) continue;
    await deps.runtime.removeContainer(c.id, { signal: ctx.signal }).catch((err: unknown) => {
      if (!isCriError(err, 'NotFound')) throw err;
    });
  }
}

const codeOf: { [T in PodActionType]: SyncErrorCode } = {
  KillPod: 'KillPodSandboxError',
  RunPodSandbox: 'CreatePodSandboxError',
  KillContainer: 'KillContainerError',
  RemoveContainer: 'KillContainerError',
  ResetContainer: 'KillContainerError',
  ResizePod: 'ResizePodInPlaceError',
  StartContainer: 'RunContainerError',
};

/** Any error of an effect as a SyncError of the container it is about. */
function syncError(err: unknown, action: PodAction): SyncError {
  const container = 'name' in action ? action.name : undefined;
  const more = { cause: err, ...(container === undefined ? {} : { container }) };
  if (err instanceof SyncError)
    return err.container !== undefined || container === undefined ? err : new SyncError(err.code, err.message, more);
  if (isImageError(err)) {
    const retry = err.retryAfterMs === undefined ? {} : { retryAfterMs: err.retryAfterMs };
    return new SyncError(err.code, err.message, { ...more, ...retry });
  }
  return new SyncError(codeOf[action.type], textOf(err), more);
}

interface ImageFailure extends Error {
  code: SyncErrorCode;
  retryAfterMs?: number;
}

/** The image room's errors carry the waiting reason as their code. */
function isImageError(err: unknown): err is ImageFailure {
  return err instanceof Error && err.name === 'ImageError' && 'code' in err;
}
