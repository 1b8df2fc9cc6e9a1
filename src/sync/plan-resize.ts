import { amountsOf, containerAmounts, isResizable, type PodResourceInfo, type ResizeGates, sameAmounts } from '../api/allocation.ts';
import { allContainers } from '../api/pod.ts';
import type { Container, Pod } from '../api/types.ts';
import type { ObservedContainer } from '../pleg/types.ts';
import type { ActionOf, ContainerUpdate, PodAction } from './actions.ts';
import type { PlanInput } from './plan-input.ts';

/** What the plan knows of a pod's resources beside those of the pod itself, which are the allocated ones. */
export interface ResizeInput {
  gates: ResizeGates;
  /** What is in force, as far as it is known. */
  actuated: PodResourceInfo | undefined;
  /** A resize was left unfinished: the pod's own group may have another size than what is on record. */
  due: boolean;
}

/** The container update that brings a running container to its allocated size; undefined when it has it. */
function updateOf(pod: Pod, { gates, actuated }: ResizeInput, container: Container): Omit<ContainerUpdate, 'id'> | undefined {
  const desired = containerAmounts(pod.spec.resources, container.resources, gates.podLevel);
  const current = containerAmounts(actuated?.pod, actuated?.containers[container.name], gates.podLevel);
  return sameAmounts(desired, current) ? undefined : { name: container.name, desired, current };
}

/** True when a running container has to start anew to get its allocated size, by its resizePolicy. */
export function resizeRestarts(pod: Pod, resize: ResizeInput | undefined, container: Container): boolean {
  const update = resize === undefined ? undefined : updateOf(pod, resize, container);
  if (update === undefined) return false;
  const { desired: d, current: c } = update;
  const changed = {
    memory: d.memoryLimit !== c.memoryLimit || d.memoryRequest !== c.memoryRequest,
    cpu: d.cpuLimit !== c.cpuLimit || d.cpuRequest !== c.cpuRequest,
  };
  return (['memory', 'cpu'] as const).some(
    (name) => changed[name] && container.resizePolicy?.find((p) => p.resourceName === name)?.restartPolicy === 'RestartContainer',
  );
}

/**
 * The resize that goes before `actions`: updates of what runs and stays, and the pod's own group when it changes or a
 * container starts with another size. None while something is stopped: that is done first. `initialized`: the init
 * containers have done their part (contract: pod-lifecycle.md §5 and §20).
 */
export function planResize(input: PlanInput, actions: readonly PodAction[], initialized: boolean): ActionOf<'ResizePod'> | undefined {
  const { pod, observed, resize } = input;
  if (resize === undefined || actions.some((a) => a.type === 'KillContainer' || a.type === 'KillPod')) return undefined;
  const sandbox = observed.sandboxes[0];
  if (sandbox === undefined) return undefined;
  const memory: ContainerUpdate[] = [];
  const cpu: ContainerUpdate[] = [];
  for (const { kind, container } of allContainers(pod)) {
    const current = observed.containers.find((c) => c.name === container.name);
    if (current?.state !== 'running' || !isResizable({ kind, container }, resize.gates)) continue;
    const update = updateOf(pod, resize, container);
    if (update === undefined) continue;
    const { desired: d, current: c } = update;
    addInOrder(memory, update, current, c.memoryLimit, d.memoryLimit, c.memoryRequest, d.memoryRequest);
    addInOrder(cpu, update, current, c.cpuLimit, d.cpuLimit, c.cpuRequest, d.cpuRequest);
  }
  const podLevel = initialized && changesPodLevel(pod, resize);
  const starts = !podLevel && ((initialized && resize.due) || startsResized(input, resize, actions));
  if (memory.length === 0 && cpu.length === 0 && !podLevel && !starts) return undefined;
  return { type: 'ResizePod', sandboxId: sandbox.id, memory, cpu, podLevel, starts };
}

/** Decreases first: they make the room that increases need. The limit decides, where it changes. */
function addInOrder(
  list: ContainerUpdate[],
  update: Omit<ContainerUpdate, 'id'>,
  { id }: ObservedContainer,
  oldLimit: number,
  newLimit: number,
  oldRequest: number,
  newRequest: number,
): void {
  const change = newLimit - oldLimit || newRequest - oldRequest;
  if (change > 0) list.push({ id, ...update });
  else if (change < 0) list.unshift({ id, ...update });
}

function changesPodLevel(pod: Pod, { gates, actuated }: ResizeInput): boolean {
  return gates.podLevel && !sameAmounts(amountsOf(pod.spec.resources), amountsOf(actuated?.pod));
}

function startsResized({ pod }: PlanInput, resize: ResizeInput, actions: readonly PodAction[]): boolean {
  const starting = new Set(actions.flatMap((a) => (a.type === 'StartContainer' ? [a.name] : [])));
  return [...allContainers(pod)].some(
    (c) => starting.has(c.container.name) && isResizable(c, resize.gates) && updateOf(pod, resize, c.container) !== undefined,
  );
}
