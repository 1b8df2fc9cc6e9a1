import type { Container } from '../api/types.ts';
import type { ObservedContainer } from '../pleg/types.ts';
import type { BackOffWait, ContainerKind, PodAction } from './actions.ts';
import { type PlanInput, statusesOf } from './plan-input.ts';
import { resizeRestarts } from './plan-resize.ts';

export interface ContainersPlan {
  actions: PodAction[];
  waits: BackOffWait[];
  /** How many containers run and stay. */
  kept: number;
}

export const isNotRunning = (c: ObservedContainer) => c.state === 'exited' || c.state === 'created';

/** The regular containers: all that should run and do not start now, or wait for their back-off. */
export function planRegular(input: PlanInput): ContainersPlan {
  const result: ContainersPlan = { actions: [], waits: [], kept: 0 };
  for (const container of input.pod.spec.containers) {
    const statuses = statusesOf(input.observed, container.name);
    const current = statuses[0];
    if (current?.state === 'running') {
      const kill = killOfRunning(input, container, current, 'Container');
      if (kill === undefined) result.kept++;
      else result.actions.push(kill);
    } else if (input.mustStart.has(container.name) || input.shouldRestart(container, statuses)) {
      startOrWait(input, 'regular', container, current, result);
    }
  }
  return result;
}

/** What stops a running container: another definition, or a probe. Undefined: it stays. */
export function killOfRunning(input: PlanInput, container: Container, current: ObservedContainer, label: string): PodAction | undefined {
  const restarts = input.pod.spec.restartPolicy !== 'Never' || container.restartPolicy === 'Always';
  const kill = (reason: 'definitionChanged' | 'livenessProbe' | 'startupProbe', text: string, thenStart: boolean): PodAction => ({
    type: 'KillContainer',
    id: current.id,
    name: container.name,
    reason,
    message: `${label} ${container.name} ${text}${thenStart ? ', will be restarted' : ''}`,
    thenStart,
  });
  if (current.hash !== '' && current.hash !== input.hash(container)) return kill('definitionChanged', 'definition changed', true);
  if (input.probe(current.id, 'liveness') === 'Failure') return kill('livenessProbe', 'failed liveness probe', restarts);
  if (input.probe(current.id, 'startup') === 'Failure') return kill('startupProbe', 'failed startup probe', restarts);
  if (resizeRestarts(input.pod, input.resize, container)) {
    const message = `Container ${container.name} resize requires restart`;
    return { type: 'KillContainer', id: current.id, name: container.name, reason: 'resize', message, thenStart: true };
  }
  return undefined;
}

/** Starts a container that does not run; one in an unknown state is stopped first; one in back-off waits. */
export function startOrWait(
  input: PlanInput,
  kind: ContainerKind,
  container: Container,
  current: ObservedContainer | undefined,
  into: { actions: PodAction[]; waits: BackOffWait[] },
): void {
  if (current?.state === 'unknown') {
    const label = kind === 'init' ? 'Init container' : 'Container';
    const message = `${label} is in "unknown" state, try killing it before restart`;
    into.actions.push({ type: 'KillContainer', id: current.id, name: container.name, reason: 'unknownState', message, thenStart: true });
    return;
  }
  const exited = statusesOf(input.observed, container.name).find((s) => s.state === 'exited');
  const backOff = exited === undefined ? undefined : input.backOff(container, exited);
  if (backOff === undefined) into.actions.push({ type: 'StartContainer', kind, name: container.name });
  else into.waits.push({ kind, name: container.name, ...backOff });
}
