import { isSidecar } from '../api/restart.ts';
import type { Container } from '../api/types.ts';
import type { ObservedContainer } from '../pleg/types.ts';
import type { BackOffWait, PodAction } from './actions.ts';
import type { PlanInput } from './plan-input.ts';
import { killOfRunning, startOrWait } from './plan-regular.ts';

export interface InitPlan {
  actions: PodAction[];
  waits: BackOffWait[];
  /** The regular containers may start. */
  done: boolean;
  /** An init container failed for good: the pod is to be stopped. */
  failed: boolean;
}

/**
 * The init containers in their order (contract: pod-lifecycle §5). `inSandbox` are the instances that belong to the
 * present sandbox: a new sandbox begins with the first init container again.
 */
export function planInit(input: PlanInput, inSandbox: readonly ObservedContainer[], initialized: boolean): InitPlan {
  const init = input.pod.spec.initContainers ?? [];
  const result: InitPlan = { actions: [], waits: [], done: false, failed: false };
  const newest = (c: Container) => inSandbox.find((s) => s.name === c.name);
  const lastSeen = init.findLastIndex((c) => newest(c) !== undefined);

  for (const [i, container] of init.entries()) {
    const current = newest(container);
    const passed = initialized || i < lastSeen;
    const step = isSidecar(container)
      ? sidecarStep(input, container, current, result)
      : passed
        ? 'next'
        : initStep(input, container, current, result);
    if (step === 'failed') return { ...result, actions: [], waits: [], failed: true };
    if (step === 'stay' && !passed) return result;
  }
  return { ...result, done: true };
}

type Step = 'next' | 'stay' | 'failed';

function initStep(input: PlanInput, container: Container, current: ObservedContainer | undefined, into: InitPlan): Step {
  if (current === undefined || current.state === 'created') {
    startOrWait(input, 'init', container, current, into);
    return 'stay';
  }
  if (current.state === 'running') return 'stay';
  if (current.state === 'exited' && current.status.exitCode === 0 && current.status.reason !== 'OOMKilled') return 'next';
  if (current.state === 'unknown') {
    if (input.pod.spec.restartPolicy === 'Never' && container.restartPolicy === undefined) return 'failed';
  } else if (!input.mustStart.has(container.name) && !input.shouldRestart(container, [current])) return 'failed';
  startOrWait(input, 'init', container, current, into);
  return 'stay';
}

function sidecarStep(input: PlanInput, container: Container, current: ObservedContainer | undefined, into: InitPlan): Step {
  if (current === undefined || current.state !== 'running') {
    startOrWait(input, 'init', container, current, into);
    return 'stay';
  }
  const kill = killOfRunning(input, container, current, 'Init container');
  if (kill !== undefined) {
    into.actions.push(kill);
    return 'stay';
  }
  const hasStarted = container.startupProbe === undefined || input.probe(current.id, 'startup') === 'Success';
  return hasStarted ? 'next' : 'stay';
}
