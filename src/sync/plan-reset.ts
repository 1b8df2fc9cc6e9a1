import { matchingRestartRule } from '../api/restart.ts';
import type { Container } from '../api/types.ts';
import type { PodAction } from './actions.ts';
import { type PlanInput, statusesOf } from './plan-input.ts';

/**
 * What a `RestartAllContainers` rule asks for (contract: pod-lifecycle §5, step 3): every instance of every regular and
 * init container is stopped and removed, so that the pod begins anew in its sandbox. One group at a time, and those whose
 * exit asked for it last: whenever this is cut short, what is left still says that it has to go on. Empty once all are gone.
 */
export function planReset(input: PlanInput): PodAction[] {
  const { containers, initContainers = [] } = input.pod.spec;
  const isSource = (c: Container) => {
    const newest = statusesOf(input.observed, c.name)[0];
    return newest?.state === 'exited' && matchingRestartRule(c, newest.status.exitCode)?.action === 'RestartAllContainers';
  };
  const targets = [containers, initContainers].map((list) => list.filter((c) => !isSource(c)));
  const sources = [containers, initContainers].map((list) => list.filter(isSource));
  for (const group of [...targets, ...sources]) {
    const actions = group.flatMap((c) => statusesOf(input.observed, c.name).map((s) => resetOf(s)));
    if (actions.length > 0) return actions;
  }
  return [];
}

const resetOf = (s: ReturnType<typeof statusesOf>[number]): PodAction => ({
  type: 'ResetContainer',
  id: s.id,
  name: s.name,
  stop: s.state === 'running' || s.state === 'unknown',
});

/** Old instances of init containers that may go when another one starts: all that have ended, but the newest of each name. */
export function planPrune(input: PlanInput): PodAction[] {
  return (input.pod.spec.initContainers ?? []).flatMap(({ name }) =>
    statusesOf(input.observed, name)
      .filter((s) => s.state === 'exited' || s.state === 'unknown')
      .slice(1)
      .filter((s) => s.state === 'exited')
      .map((s): PodAction => ({ type: 'RemoveContainer', id: s.id, name })),
  );
}
