import { posix } from 'node:path';
import { containerId } from '../api/brands.ts';
import { findContainer } from '../api/pod.ts';
import type { Container, Pod } from '../api/types.ts';
import { containerLogLink } from '../containers/log-paths.ts';
import { isCriError } from '../cri/errors.ts';
import type { ContainerConfig, PodSandboxConfig } from '../cri/types.ts';
import { withRespite } from '../host/respite.ts';
import { containerEventObject, containerFieldPath } from '../observe/event-object.ts';
import type { ContainerKind } from './actions.ts';
import type { ContainerSpecInput, StageContext, SyncDeps } from './context.ts';
import { SyncError, type SyncErrorCode } from './errors.ts';
import { killContainer, textOf } from './kill.ts';
import { statusesOf } from './plan-input.ts';
import { nextRestartCount } from './restart-count.ts';
import { StartRespiteMs } from './run-sandbox.ts';

/** What a runtime's error begins with when it is about an image volume (contract: compat-matrix.md §3). */
const ImageVolumeMountFailed = 'ImageVolumeMountFailed';

/**
 * Starts one container (contract: pod-lifecycle §5 "Starting one container"): image, config, create, start, log link,
 * postStart hook, with an event for each outcome. Throws SyncError whose code is the container's waiting reason.
 */
export async function startContainer(deps: SyncDeps, ctx: StageContext, kind: ContainerKind, name: string): Promise<void> {
  const { pod, observed, signal } = ctx;
  const container = findContainer(pod, name)?.container;
  const sandbox = observed.sandboxes[0];
  if (container === undefined || sandbox === undefined) return;
  const object = containerEventObject(pod, name);
  const failed = (code: SyncErrorCode, err: unknown): SyncError => {
    if (!signal.aborted) deps.events.event(object, 'Warning', 'Failed', `Error: ${textOf(err)}`);
    deps.metrics.containerStarted(kind, code);
    return err instanceof SyncError ? err : new SyncError(code, textOf(err), { container: name, cause: err });
  };

  // One try, as the real kubelet: after a failure the restart policy alone decides, so the end that is then shown stays true.
  ctx.memory.mustStart.delete(name);
  const { config: sandboxConfig, runtimeHandler } = await ctx.sandbox(sandbox.attempt);
  const fieldPath = containerFieldPath(pod, name);
  const imageVolumes = await ctx.slot
    .whileSlow(ctx.imageVolumes.of(container, { sandboxConfig, runtimeHandler, signal }))
    .catch((err: unknown) => {
      const reason = err instanceof Error && 'code' in err ? String(err.code) : textOf(err);
      if (!signal.aborted) deps.events.event(object, 'Warning', 'Failed', `Error: ${reason}`);
      throw err;
    });
  const { imageRef } = await ctx.slot.whileSlow(deps.images.ensureImage({ pod, container, fieldPath, sandboxConfig, signal }));
  const userns = sandboxConfig.linux?.securityContext?.namespaceOptions?.usernsOptions;
  const config = await prepare(deps, ctx, container, { imageRef, imageVolumes, userns }).catch((err: unknown) => {
    throw failed('CreateContainerConfigError', err);
  });
  await deps.resizer?.starts(pod, container).catch((err: unknown) => {
    throw failed('CreateContainerConfigError', err);
  });
  const id = await deps.runtime.createContainer(sandbox.id, config, sandboxConfig, { signal }).catch((err: unknown) => {
    if (isCriError(err, 'NotFound')) deps.images.forget(imageRef);
    deps.metrics.imageVolumesMounted(imageVolumes.size, textOf(err).startsWith(ImageVolumeMountFailed));
    throw failed('CreateContainerError', err);
  });
  ctx.made.containers.push({ id, sandboxId: sandbox.id });
  deps.metrics.imageVolumesMounted(imageVolumes.size, false);
  deps.events.event(object, 'Normal', 'Created', 'Container created');
  const start = (late: AbortSignal) => deps.runtime.startContainer(id, { signal: late });
  await withRespite(deps.clock, signal, StartRespiteMs, start).catch((err: unknown) => {
    throw failed('RunContainerError', err);
  });
  deps.events.event(object, 'Normal', 'Started', 'Container started');
  deps.metrics.containerStarted(kind, undefined);
  await linkLog(deps, pod, name, id, sandboxConfig, config);
  await postStart(deps, ctx, container, id);
}

type PreparedInput = Pick<ContainerSpecInput, 'imageRef' | 'imageVolumes' | 'userns'>;

async function prepare(deps: SyncDeps, ctx: StageContext, container: Container, input: PreparedInput): Promise<ContainerConfig> {
  const { pod, observed, signal } = ctx;
  const targetId = targetOf(ctx, container.name);
  const logDir = deps.specs.containerLogDir(pod, container.name);
  const restartCount = await nextRestartCount(deps.files, logDir, statusesOf(observed, container.name)[0]);
  await deps.files.mkdir(logDir, 0o755);
  return deps.specs.container({ ...input, pod, container, restartCount, podIps: observed.ips, targetId, signal });
}

/** The instance whose processes an ephemeral container asked to see. Throws SyncError when there is none. */
function targetOf({ pod, observed }: StageContext, name: string): string | undefined {
  const targetContainerName = pod.spec.ephemeralContainers?.find((c) => c.name === name)?.targetContainerName;
  if (targetContainerName === undefined || targetContainerName === '') return undefined;
  const target = statusesOf(observed, targetContainerName)[0];
  if (target !== undefined) return target.id;
  throw new SyncError('CreateContainerConfigError', `unable to find target container ${targetContainerName}`, { container: name });
}

/** `/var/log/containers/{pod}_{ns}_{container}-{id}.log`; a failure costs only the link. */
async function linkLog(
  deps: SyncDeps,
  pod: Pod,
  name: string,
  id: string,
  sandbox: PodSandboxConfig,
  config: ContainerConfig,
): Promise<void> {
  const dir = deps.containerLogsDir;
  if (sandbox.logDirectory === undefined || config.logPath === undefined) return;
  const target = posix.join(sandbox.logDirectory, config.logPath);
  const link = containerLogLink(dir, pod.metadata, name, id);
  try {
    if ((await deps.files.lstat(target)) !== undefined) await deps.files.symlink(target, link);
  } catch (err) {
    deps.log.error(err, 'Failed to create legacy symbolic link', { path: link, containerID: id });
  }
}

async function postStart(deps: SyncDeps, ctx: StageContext, container: Container, id: string): Promise<void> {
  const hook = container.lifecycle?.postStart;
  if (hook === undefined) return;
  const { pod, observed, signal } = ctx;
  try {
    await ctx.slot.whileSlow(deps.hooks.run(hook, { pod, container, containerId: id, podIps: observed.ips }, signal));
  } catch (err) {
    signal.throwIfAborted();
    deps.log.error(err, 'Failed to execute PostStartHook', { containerName: container.name, containerID: id });
    deps.events.event(containerEventObject(pod, container.name), 'Warning', 'FailedPostStartHook', 'PostStartHook failed');
    const kill = { id: containerId(id), name: container.name, message: 'FailedPostStartHook', reason: 'postStartFailed' as const };
    await killContainer(deps, pod, observed.ips, kill, signal);
    throw new SyncError('PostStartHookError', 'PostStartHook failed', { container: container.name, cause: err });
  }
}
