import { listCall, required, type ServiceCaller } from './caller.ts';
import {
  readContainer,
  readContainerStatus,
  type WireContainer,
  type WireContainerStatus,
  writeContainerConfig,
  writeContainerFilter,
} from './convert/container.ts';
import { readRuntimeStatus, type WireStatusResponse } from './convert/runtime.ts';
import {
  readSandbox,
  readSandboxStatus,
  type WireSandbox,
  type WireSandboxStatus,
  writeSandboxConfig,
  writeSandboxFilter,
} from './convert/sandbox.ts';
import { CriError, isCriError } from './errors.ts';
import { containerEvents } from './events.ts';
import type { CriRuntime, CriSandboxResize, CriVerbose } from './ports.ts';
import type * as t from './types.ts';

const sandboxList = listCall<WireSandbox>('ListPodSandbox', 'items');
const sandboxStream = listCall<WireSandbox>('StreamPodSandboxes', 'podSandboxes');
const containerList = listCall<WireContainer>('ListContainers', 'containers');
const containerStream = listCall<WireContainer>('StreamContainers', 'containers');

/** CRI's own version, in Version requests and answers. */
const criVersion = '0.1.0';

/** The pods' and containers' part of RuntimeService. Deadlines: contract compat-matrix.md §2. */
export class RuntimeClient implements CriRuntime, CriSandboxResize, CriVerbose {
  readonly #rpc: ServiceCaller;
  readonly #signals: ReadonlyMap<number, string>;

  /** `signals` names the protocol's enum Signal by number. */
  constructor(rpc: ServiceCaller, signals: ReadonlyMap<number, string>) {
    this.#rpc = rpc;
    this.#signals = signals;
  }

  version(opts?: t.CallOptions): Promise<t.RuntimeVersion> {
    return this.#rpc.call('Version', { version: criVersion }, opts);
  }

  async status(opts?: t.CallOptions): Promise<t.RuntimeStatus> {
    return readRuntimeStatus(await this.#rpc.call<WireStatusResponse>('Status', {}, opts));
  }

  async verboseStatus(opts?: t.CallOptions): Promise<t.RuntimeStatus> {
    return readRuntimeStatus(await this.#rpc.call<WireStatusResponse>('Status', { verbose: true }, opts));
  }

  async runtimeConfig(opts?: t.CallOptions): Promise<'systemd' | 'cgroupfs' | undefined> {
    const { linux } = await this.#rpc.call<{ linux: { cgroupDriver: number } | null }>('RuntimeConfig', {}, opts);
    if (linux === null) return undefined;
    if (linux.cgroupDriver === 0) return 'systemd';
    if (linux.cgroupDriver === 1) return 'cgroupfs';
    throw new CriError('Internal', 'RuntimeConfig', `the runtime names the unknown cgroup driver ${linux.cgroupDriver}`);
  }

  async updateRuntimeConfig(podCidr: string, opts?: t.CallOptions): Promise<void> {
    await this.#rpc.call('UpdateRuntimeConfig', { runtimeConfig: { networkConfig: { podCidr } } }, opts);
  }

  async runPodSandbox(config: t.PodSandboxConfig, runtimeHandler: string, opts?: t.CallOptions): Promise<string> {
    const request = { config: writeSandboxConfig(config), runtimeHandler };
    const pod = `${config.metadata.namespace}/${config.metadata.name}`;
    // Twice the usual time: the network plugins work inside this call.
    const { podSandboxId } = await this.#rpc.call<{ podSandboxId: string }>('RunPodSandbox', request, opts, pod, this.#rpc.timeoutMs * 2);
    return required(podSandboxId, 'RunPodSandbox', `a sandbox id for pod ${pod}`);
  }

  async stopPodSandbox(id: string, opts?: t.CallOptions): Promise<void> {
    await this.#rpc.call('StopPodSandbox', { podSandboxId: id }, opts, id);
  }

  async removePodSandbox(id: string, opts?: t.CallOptions): Promise<void> {
    await this.#rpc.call('RemovePodSandbox', { podSandboxId: id }, opts, id);
  }

  async podSandboxStatus(id: string, opts?: t.CallOptions): Promise<t.PodSandboxStatus> {
    const { status } = await this.#rpc.call<{ status: WireSandboxStatus | null }>('PodSandboxStatus', { podSandboxId: id }, opts, id);
    const wire = required(status, 'PodSandboxStatus', 'a status');
    required(wire.id, 'PodSandboxStatus', 'the id of the sandbox');
    required(wire.metadata, 'PodSandboxStatus', 'the metadata of the sandbox');
    return readSandboxStatus(wire);
  }

  async listPodSandbox(filter?: t.PodSandboxFilter, opts?: t.CallOptions): Promise<t.PodSandbox[]> {
    return (await this.#rpc.list(sandboxList, sandboxStream, writeSandboxFilter(filter), opts)).map(readSandbox);
  }

  async createContainer(
    podSandboxId: string,
    config: t.ContainerConfig,
    sandboxConfig: t.PodSandboxConfig,
    opts?: t.CallOptions,
  ): Promise<string> {
    const request = { podSandboxId, config: writeContainerConfig(config, this.#signals), sandboxConfig: writeSandboxConfig(sandboxConfig) };
    const name = `${sandboxConfig.metadata.namespace}/${sandboxConfig.metadata.name}/${config.metadata.name}`;
    const { containerId } = await this.#rpc.call<{ containerId: string }>('CreateContainer', request, opts, name);
    return required(containerId, 'CreateContainer', `a container id for ${name}`);
  }

  async startContainer(id: string, opts?: t.CallOptions): Promise<void> {
    await this.#rpc.call('StartContainer', { containerId: id }, opts, id);
  }

  async stopContainer(id: string, timeoutSeconds: number, opts?: t.CallOptions): Promise<void> {
    const timeoutMs = this.#rpc.timeoutMs + timeoutSeconds * 1000;
    await this.#rpc.call('StopContainer', { containerId: id, timeout: timeoutSeconds }, opts, id, timeoutMs);
  }

  async removeContainer(id: string, opts?: t.CallOptions): Promise<void> {
    await this.#rpc.call('RemoveContainer', { containerId: id }, opts, id);
  }

  async listContainers(filter?: t.ContainerFilter, opts?: t.CallOptions): Promise<t.Container[]> {
    return (await this.#rpc.list(containerList, containerStream, writeContainerFilter(filter), opts)).map(readContainer);
  }

  async containerStatus(id: string, opts?: t.CallOptions): Promise<t.ContainerStatus> {
    const { status } = await this.#rpc.call<{ status: WireContainerStatus | null }>('ContainerStatus', { containerId: id }, opts, id);
    const wire = required(status, 'ContainerStatus', 'a status');
    required(wire.id, 'ContainerStatus', 'the id of the container');
    required(wire.metadata, 'ContainerStatus', 'the metadata of the container');
    return readContainerStatus(wire, this.#signals);
  }

  async updateContainerResources(id: string, resources: t.LinuxContainerResources, opts?: t.CallOptions): Promise<void> {
    await this.#rpc.call('UpdateContainerResources', { containerId: id, linux: resources }, opts, id);
  }

  async updatePodSandboxResources(
    podSandboxId: string,
    overhead: t.LinuxContainerResources | undefined,
    resources: t.LinuxContainerResources | undefined,
    opts?: t.CallOptions,
  ): Promise<boolean> {
    try {
      await this.#rpc.call('UpdatePodSandboxResources', { podSandboxId, overhead, resources }, opts, podSandboxId);
      return true;
    } catch (err) {
      if (isCriError(err, 'Unimplemented') || (isCriError(err, 'Unknown') && err.message.includes('not implemented'))) return false;
      throw err;
    }
  }

  async reopenContainerLog(id: string, opts?: t.CallOptions): Promise<void> {
    await this.#rpc.call('ReopenContainerLog', { containerId: id }, opts, id);
  }

  async execSync(id: string, cmd: string[], timeoutSeconds: number, opts?: t.CallOptions): Promise<t.ExecSyncResult> {
    // Without a time-out of its own a command may run for ever: then the call has no deadline either.
    const timeoutMs = timeoutSeconds > 0 ? this.#rpc.timeoutMs + timeoutSeconds * 1000 : 0;
    return await this.#rpc.call<t.ExecSyncResult>('ExecSync', { containerId: id, cmd, timeout: timeoutSeconds }, opts, id, timeoutMs);
  }

  containerEvents(signal: AbortSignal): AsyncIterable<t.ContainerEvent> {
    return containerEvents(this.#rpc, signal);
  }
}
