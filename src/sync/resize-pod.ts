import { type Amounts, amountsOf, effectiveLimits, type PodResourceInfo, sameAmounts } from '../api/allocation.ts';
import { findContainer, formatPod } from '../api/pod.ts';
import { Quantity } from '../api/quantity.ts';
import { quantityOf } from '../api/resources.ts';
import type { Container, Pod, ResourceList, ResourceRequirements } from '../api/types.ts';
import { isCriError } from '../cri/errors.ts';
import type { CriRuntime, CriSandboxResize } from '../cri/ports.ts';
import type { LinuxContainerResources } from '../cri/types.ts';
import type { Clock } from '../host/clock.ts';
import type { Logger } from '../observe/log.ts';
import { milliCpuToQuota, milliCpuToShares, sharesToMilliCpu } from '../resources/cpu.ts';
import type { PodCgroupConfig } from '../resources/pod-cgroup-config.ts';
import type { ActionOf, ContainerUpdate } from './actions.ts';
import { textOf } from './kill.ts';

/** What a pod's control group is set to; a part that is left out is not touched, or not known. */
export type PodCgroupPart = Partial<Pick<PodCgroupConfig, 'cpuShares' | 'cpuQuota' | 'cpuPeriod' | 'memory' | 'unified'>>;

/** The control groups of pods, for a resize. */
export interface PodCgroupResizer {
  /** What the group of a pod of these resources is set to. */
  wanted(pod: Pod): PodCgroupPart;
  /** What it is set to now, from the kernel; undefined: there are no groups of pods here. -1 is no limit. */
  current(pod: Pod): Promise<Required<Omit<PodCgroupPart, 'unified'>> | undefined>;
  /** Rejects when the kernel refuses. */
  change(pod: Pod, part: PodCgroupPart): Promise<void>;
  /** Bytes in use by the whole pod. */
  memoryUsage(pod: Pod): Promise<number | undefined>;
}

/** The record of what is in force. */
export interface ActuatedRecord {
  get(uid: string): PodResourceInfo | undefined;
  setContainer(uid: string, name: string, resources: ResourceRequirements): void;
  setPodLevel(uid: string, resources: ResourceRequirements): void;
}

export interface PodResizerDeps {
  runtime: Pick<CriRuntime, 'updateContainerResources'> & Partial<CriSandboxResize>;
  cgroups: PodCgroupResizer;
  /** What the runtime enforces for a container of these resources. */
  containerResources(pod: Pod, container: Container): LinuxContainerResources;
  sandboxOverhead(pod: Pod): LinuxContainerResources;
  /** Bytes in use by a container; undefined when nobody knows. */
  containerMemoryUsage(id: string): Promise<number | undefined>;
  actuated: ActuatedRecord;
  /** Whether a container without a limit of its own is held by the pod's. */
  podLevel: boolean;
  /** Resolves when what is allocated, or in force, is on disk. Nothing comes into force before its allocation is. */
  saved: { allocated(): Promise<void>; actuated(): Promise<void> };
  clock: Pick<Clock, 'monotonic'>;
  log: Logger;
  measured(milliseconds: number, success: boolean): void;
}

type Resource = 'memory' | 'cpu';

/**
 * Brings allocated resources into force (contract: pod-lifecycle.md §20): memory, then CPU; for each the pod's group
 * grows before its containers and shrinks after them, so that no container is ever larger than its pod. Each step is on
 * record once it is done: after a failure, or a crash, the next sync goes on from there. Rejects with what failed.
 */
export class PodResizer {
  readonly #deps: PodResizerDeps;

  constructor(deps: PodResizerDeps) {
    this.#deps = deps;
  }

  async resize(pod: Pod, action: ActionOf<'ResizePod'>, signal: AbortSignal): Promise<void> {
    const { clock, measured, saved } = this.#deps;
    const began = clock.monotonic();
    let success = false;
    try {
      await saved.allocated();
      await this.#steps(pod, action, signal);
      success = true;
    } finally {
      measured(clock.monotonic() - began, success);
    }
  }

  /** Resolves once the allocation is on disk: a container that is stopped for its size must not come back with the old one. */
  ready(): Promise<void> {
    return this.#deps.saved.allocated();
  }

  /** A container is about to be made with its allocated size. */
  async starts(pod: Pod, { name, resources }: Container): Promise<void> {
    const { saved, actuated } = this.#deps;
    await saved.allocated();
    const before = actuated.get(pod.metadata.uid)?.containers[name];
    this.#record(pod, name, resources);
    // Lost in a crash, it would be made once more for the same resize.
    if (before !== undefined && !sameAmounts(amountsOf(before), amountsOf(resources))) await saved.actuated();
  }

  #record(pod: Pod, name: string, resources: ResourceRequirements | undefined): void {
    const { actuated, podLevel } = this.#deps;
    const limits = podLevel ? { limits: effectiveLimits(pod.spec.resources, resources) } : {};
    actuated.setContainer(pod.metadata.uid, name, { ...resources, ...limits });
  }

  async #steps(pod: Pod, action: ActionOf<'ResizePod'>, signal: AbortSignal): Promise<void> {
    const { cgroups } = this.#deps;
    const wanted = cgroups.wanted(pod);
    const current = await cgroups.current(pod);
    await this.#validate(pod, action, wanted.memory, current?.memory);
    const run: ResizeRun = { pod, action, signal, inForce: { ...wanted, ...current }, reached: new Map() };
    const all = action.podLevel || action.starts;
    if (all || action.memory.length > 0) {
      // A limit that is not asked for any more stays: the kernel's own tools could take it away, Kubernetes' API does not.
      const memory = wanted.memory ?? current?.memory;
      await this.#ordered(run, 'memory', [[current?.memory, memory, { memory, unified: wanted.unified }]], action.memory);
    }
    if (all || action.cpu.length > 0) {
      const cpuQuota = wanted.cpuQuota ?? current?.cpuQuota;
      const quota: Step = [current?.cpuQuota, cpuQuota, { cpuQuota, cpuPeriod: wanted.cpuPeriod }];
      await this.#ordered(run, 'cpu', [quota, [current?.cpuShares, wanted.cpuShares, { cpuShares: wanted.cpuShares }]], action.cpu);
    }
  }

  /** Limits grow before requests, and requests shrink before limits. */
  async #ordered(run: ResizeRun, resource: Resource, steps: Step[], updates: readonly ContainerUpdate[]): Promise<void> {
    for (const [from, to, part] of steps) if (grows(from, to)) await this.#setPod(run, resource, part);
    for (const update of updates) await this.#setContainer(run, resource, update);
    for (const [from, to, part] of steps.toReversed()) if (grows(to, from)) await this.#setPod(run, resource, part);
    if (run.action.podLevel) this.#recordPodLevel(run.pod, resource);
  }

  /** The runtime is asked first: when it refuses, nothing is changed. */
  async #setPod(run: ResizeRun, resource: Resource, part: Loose<PodCgroupPart>): Promise<void> {
    const { cgroups, log } = this.#deps;
    const change = Object.fromEntries(Object.entries(part).filter(([, value]) => value !== undefined)) as PodCgroupPart;
    const next = { ...run.inForce, ...change };
    try {
      await this.#tellSandbox(run, next);
    } catch (err) {
      throw new Error(`failed to notify runtime for UpdatePodSandboxResources (resource=${resource}); resize rejected: ${textOf(err)}`, {
        cause: err,
      });
    }
    try {
      await cgroups.change(run.pod, change);
    } catch (err) {
      await this.#tellSandbox(run, run.inForce).catch((back: unknown) =>
        log.error(back, 'Failed to notify runtime to rollback UpdatePodSandboxResources', { resource, pod: formatPod(run.pod) }),
      );
      throw err;
    }
    run.inForce = next;
  }

  async #tellSandbox({ pod, action, signal }: ResizeRun, inForce: PodCgroupPart): Promise<void> {
    const { runtime, sandboxOverhead } = this.#deps;
    const { cpuShares, cpuQuota, cpuPeriod, memory, unified } = withoutOverhead(inForce, pod);
    const resources: LinuxContainerResources = {
      ...(cpuShares === undefined ? {} : { cpuShares }),
      ...(cpuQuota === undefined ? {} : { cpuQuota }),
      ...(cpuPeriod === undefined ? {} : { cpuPeriod }),
      ...(memory === undefined || memory < 0 ? {} : { memoryLimitInBytes: memory }),
      ...(unified === undefined ? {} : { unified }),
    };
    await runtime.updatePodSandboxResources?.(action.sandboxId, sandboxOverhead(pod), resources, { signal });
  }

  async #setContainer(run: ResizeRun, resource: Resource, update: ContainerUpdate): Promise<void> {
    const { runtime, containerResources } = this.#deps;
    const { pod, signal } = run;
    const spec = findContainer(pod, update.name)?.container;
    if (spec === undefined) return;
    const before = run.reached.get(update.name) ?? update.current;
    const { desired } = update;
    const next: Amounts =
      resource === 'memory'
        ? { ...before, memoryLimit: desired.memoryLimit, memoryRequest: desired.memoryRequest }
        : { ...before, cpuLimit: desired.cpuLimit, cpuRequest: desired.cpuRequest };
    const resources = requirementsOf(next);
    try {
      await runtime.updateContainerResources(update.id, containerResources(pod, { ...spec, resources }), { signal });
    } catch (err) {
      // It ended meanwhile: it gets its size when it starts.
      if (isCriError(err, 'NotFound')) return;
      throw err;
    }
    run.reached.set(update.name, next);
    this.#record(pod, update.name, resources);
  }

  /** One resource at a time: the other one is still to come. */
  #recordPodLevel({ metadata: { uid }, spec }: Pod, resource: Resource): void {
    const { actuated } = this.#deps;
    const before = actuated.get(uid)?.pod;
    const merged = (list: 'requests' | 'limits'): ResourceList => {
      const { [resource]: _, ...others } = before?.[list] ?? {};
      const now = spec.resources?.[list]?.[resource];
      return now === undefined ? others : { ...others, [resource]: now };
    };
    actuated.setPodLevel(uid, { ...spec.resources, limits: merged('limits'), requests: merged('requests') });
  }

  /** A memory limit below what is in use would end in kills by the kernel: refused, and tried again later. */
  async #validate(pod: Pod, action: ActionOf<'ResizePod'>, wanted: number | undefined, current: number | undefined): Promise<void> {
    if (action.memory.length === 0 && !action.starts && !action.podLevel) return;
    const faults: string[] = [];
    if (wanted !== undefined && grows(wanted, current)) {
      const usage = await this.#deps.cgroups.memoryUsage(pod);
      if (usage === undefined) faults.push('missing pod memory usage');
      else if (usage >= wanted) faults.push(`attempting to set pod memory limit (${wanted}) below current usage (${usage})`);
    }
    for (const { id, name, desired, current: before } of action.memory) {
      if (desired.memoryLimit === 0 || (before.memoryLimit !== 0 && desired.memoryLimit >= before.memoryLimit)) continue;
      const usage = await this.#deps.containerMemoryUsage(id);
      const limit = desired.memoryLimit;
      if (usage === undefined) faults.push(`missing container ${JSON.stringify(name)} memory usage`);
      else if (usage >= limit) {
        faults.push(`attempting to set container ${JSON.stringify(name)} memory limit (${limit}) below current usage (${usage})`);
      }
    }
    if (faults.length > 0) throw new Error(`cannot decrease memory limits: ${faults.length === 1 ? faults[0] : `[${faults.join(', ')}]`}`);
  }
}

interface ResizeRun {
  readonly pod: Pod;
  readonly action: ActionOf<'ResizePod'>;
  readonly signal: AbortSignal;
  /** What the pod's group is set to. */
  inForce: PodCgroupPart;
  /** Containers that were updated, by name. */
  readonly reached: Map<string, Amounts>;
}

type Loose<T> = { [K in keyof T]: T[K] | undefined };
/** From, to, and what is set to get there. */
type Step = [from: number | undefined, to: number | undefined, part: Loose<PodCgroupPart>];

/** True when `to` allows more than `from`; -1 is no limit. */
function grows(from: number | undefined, to: number | undefined): boolean {
  if (from === undefined || to === undefined) return false;
  const size = (n: number) => (n < 0 ? Number.POSITIVE_INFINITY : n);
  return size(to) > size(from);
}

/** The runtime adds the overhead of the pod's RuntimeClass itself. */
function withoutOverhead(part: PodCgroupPart, { spec: { overhead } }: Pod): PodCgroupPart {
  const cpu = Number(quantityOf(overhead, 'cpu').milliValue());
  const bytes = Number(quantityOf(overhead, 'memory').value());
  const { cpuShares, cpuQuota = -1, cpuPeriod, memory = -1 } = part;
  const out = { ...part };
  if (cpu > 0 && cpuPeriod !== undefined && cpuQuota > 0) out.cpuQuota = cpuQuota - milliCpuToQuota(cpu, cpuPeriod);
  if (cpu > 0 && cpuShares !== undefined) out.cpuShares = milliCpuToShares(sharesToMilliCpu(cpuShares) - cpu);
  if (memory > 0) out.memory = memory - bytes;
  return out;
}

function requirementsOf({ cpuRequest, cpuLimit, memoryRequest, memoryLimit }: Amounts): ResourceRequirements {
  const list = (cpu: number, memory: number) => ({
    cpu: Quantity.ofMilli(cpu).toString(),
    memory: Quantity.of(memory, 'BinarySI').toString(),
  });
  return { limits: list(cpuLimit, memoryLimit), requests: list(cpuRequest, memoryRequest) };
}
