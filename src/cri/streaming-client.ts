import { required, type ServiceCaller } from './caller.ts';
import { writeContainerConfig } from './convert/container.ts';
import { writeSandboxConfig } from './convert/sandbox.ts';
import { CriError } from './errors.ts';
import type { CriCheckpoint, CriStreaming } from './ports.ts';
import type * as t from './types.ts';

/** The streaming and checkpoint part of RuntimeService. */
export class StreamingClient implements CriStreaming, CriCheckpoint {
  readonly #rpc: ServiceCaller;
  readonly #signals: ReadonlyMap<number, string>;

  constructor(rpc: ServiceCaller, signals: ReadonlyMap<number, string>) {
    this.#rpc = rpc;
    this.#signals = signals;
  }

  async exec(request: t.ExecRequest, opts?: t.CallOptions): Promise<string> {
    const { url } = await this.#rpc.call<{ url: string }>('Exec', request, opts, request.containerId);
    return required(url, 'Exec', 'a URL');
  }

  async attach(request: t.AttachRequest, opts?: t.CallOptions): Promise<string> {
    const { url } = await this.#rpc.call<{ url: string }>('Attach', request, opts, request.containerId);
    return required(url, 'Attach', 'a URL');
  }

  async portForward(podSandboxId: string, ports: number[], opts?: t.CallOptions): Promise<string> {
    const { url } = await this.#rpc.call<{ url: string }>('PortForward', { podSandboxId, port: ports }, opts, podSandboxId);
    return required(url, 'PortForward', 'a URL');
  }

  async checkpointContainer(id: string, location: string, timeoutSeconds: number, opts?: t.CallOptions): Promise<void> {
    if (timeoutSeconds < 0) {
      throw new CriError(
        'InvalidArgument',
        'CheckpointContainer',
        `the time-out of a checkpoint must not be negative, it is ${timeoutSeconds}`,
      );
    }
    const timeoutMs = Math.max(this.#rpc.timeoutMs, timeoutSeconds * 1000);
    await this.#rpc.call('CheckpointContainer', { containerId: id, location, timeout: timeoutSeconds }, opts, id, timeoutMs);
  }

  async checkpointPod(
    podSandboxId: string,
    outputPath: string,
    containerIds: string[],
    options: Record<string, string>,
    opts?: t.CallOptions,
  ): Promise<void> {
    await this.#rpc.call('CheckpointPod', { podSandboxId, outputPath, containerIds, options }, opts, podSandboxId);
  }

  async restorePod(request: t.RestorePodRequest, opts?: t.CallOptions): Promise<t.RestoredPod> {
    const wire = {
      ...request,
      config: writeSandboxConfig(request.config),
      containerConfigs: request.containerConfigs.map((c) => writeContainerConfig(c, this.#signals)),
    };
    const { namespace, name } = request.config.metadata;
    const restored = await this.#rpc.call<{ podSandboxId: string; restoredContainers: t.RestoredPod['containers'] }>(
      'RestorePod',
      wire,
      opts,
      `${namespace}/${name}`,
    );
    return { podSandboxId: required(restored.podSandboxId, 'RestorePod', 'a sandbox id'), containers: restored.restoredContainers };
  }
}
