import { withRespite } from '../host/respite.ts';
import { podEventObject } from '../observe/event-object.ts';
import type { ActionOf } from './actions.ts';
import type { StageContext, SyncDeps } from './context.ts';
import { SyncError } from './errors.ts';
import { textOf } from './kill.ts';

/**
 * How long a start that is under way may go on after the pod is to stop. containerd 1.x loses a task whose start is cut
 * off in the middle: its container can then not be removed any more ("cannot delete running task").
 */
export const StartRespiteMs = 10_000;

/** Makes the log directory and the sandbox. Throws SyncError; the event is silent once the pod is going away. */
export async function runSandbox(deps: SyncDeps, ctx: StageContext, action: ActionOf<'RunPodSandbox'>): Promise<void> {
  const { pod, signal } = ctx;
  const object = podEventObject(pod);
  if (action.previousId !== '') {
    deps.events.event(object, 'Normal', 'SandboxChanged', 'Pod sandbox changed, it will be killed and re-created.');
  }
  const fail = (code: 'CreatePodSandboxError' | 'ConfigPodSandboxError', err: unknown): SyncError => {
    if (!signal.aborted) deps.events.event(object, 'Warning', 'FailedCreatePodSandBox', `Failed to create pod sandbox: ${textOf(err)}`);
    return new SyncError(code, textOf(err), { cause: err });
  };
  const { config, runtimeHandler } = await ctx.sandbox(action.attempt).catch((err: unknown) => {
    throw fail('ConfigPodSandboxError', err);
  });
  const began = deps.clock.monotonic();
  try {
    if (config.logDirectory !== undefined) await deps.files.mkdir(config.logDirectory, 0o755);
    const run = (late: AbortSignal) => deps.runtime.runPodSandbox(config, runtimeHandler, { signal: late });
    const id = await withRespite(deps.clock, signal, StartRespiteMs, run);
    if (id === '') throw new Error('the runtime returned an empty sandbox id');
    ctx.made.sandboxes.push(id);
    deps.metrics.sandboxStarted(runtimeHandler, (deps.clock.monotonic() - began) / 1000, false);
  } catch (err) {
    deps.metrics.sandboxStarted(runtimeHandler, (deps.clock.monotonic() - began) / 1000, true);
    throw fail('CreatePodSandboxError', err);
  }
}
