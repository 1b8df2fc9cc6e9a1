import { sandboxId } from '../api/brands.ts';
import { type SandboxVerdict, sandboxVerdict } from '../api/sandbox.ts';
import type { Pod } from '../api/types.ts';
import type { BackOffWait, Plan, PodAction } from './actions.ts';
import { planInit } from './plan-init.ts';
import { type PlanInput, statusesOf } from './plan-input.ts';
import { isNotRunning, planRegular } from './plan-regular.ts';
import { planPrune, planReset } from './plan-reset.ts';
import { planResize } from './plan-resize.ts';

/**
 * The next stage of a pod (contract: pod-lifecycle §5, computePodActions): a new sandbox and what must stop for it, or
 * the init container whose turn it is, or all containers that should run.
 */
export function plan(input: PlanInput): Plan {
  const verdict = sandboxVerdict(input.pod, input.observed.sandboxes);
  return verdict.changed ? planNewSandbox(input, verdict) : planContainers(input);
}

function planNewSandbox(input: PlanInput, verdict: SandboxVerdict & { changed: true }): Plan {
  if (!mayHaveNewSandbox(input)) return { actions: killPodUnlessStopped(input, false, 'no container is to start'), waits: [] };
  const stop = killPodUnlessStopped(input, true, verdict.message);
  if (stop.length > 0) return { actions: stop, waits: [] };
  return { actions: [{ type: 'RunPodSandbox', attempt: verdict.attempt, previousId: sandboxId(verdict.oldId) }], waits: [] };
}

/** A run-once pod that has run is not given another sandbox; nor one in which nothing would start. */
function mayHaveNewSandbox({ pod, observed, shouldRestart, mustStart }: PlanInput): boolean {
  const newest = observed.sandboxes[0];
  const hasRun = observed.containers.length > 0;
  if (pod.spec.restartPolicy === 'Never' && newest !== undefined && hasRun && !hasRestartableContainer(pod)) return false;
  const starts = pod.spec.containers.some((c) => {
    const statuses = statusesOf(observed, c.name);
    const current = statuses[0];
    return current === undefined || current.state === 'running' || mustStart.has(c.name) || shouldRestart(c, statuses);
  });
  return starts || !hasRun;
}

const hasRestartableContainer = (pod: Pod) =>
  pod.spec.containers.some((c) => c.restartPolicy !== undefined && c.restartPolicy !== 'Never') ||
  pod.spec.containers.some((c) => (c.restartPolicyRules ?? []).length > 0);

/** KillPod while something is alive or a sandbox's network was not yet torn down; nothing once all is stopped. */
function killPodUnlessStopped({ observed, stoppedSandboxes }: PlanInput, purgeInit: boolean, why: string): PodAction[] {
  const alive = observed.containers.some((c) => c.state === 'running' || c.state === 'unknown');
  const unstopped = observed.sandboxes.some((s) => s.state === 'ready' || !stoppedSandboxes.has(s.id));
  return alive || unstopped ? [{ type: 'KillPod', purgeInit, why }] : [];
}

function planContainers(input: PlanInput): Plan {
  const { pod, observed } = input;
  const resets = input.restartingAll ? planReset(input) : [];
  if (resets.length > 0) return { actions: resets, waits: [] };
  const newest = observed.sandboxes[0];
  const inSandbox = observed.containers.filter((c) => c.sandboxId === newest?.id);
  const initialized = pod.spec.containers.some((c) => inSandbox.some((s) => s.name === c.name));

  const actions: PodAction[] = [];
  const waits: BackOffWait[] = [];
  for (const c of pod.spec.ephemeralContainers ?? []) {
    if (!observed.containers.some((s) => s.name === c.name)) actions.push({ type: 'StartContainer', kind: 'ephemeral', name: c.name });
  }
  const init = planInit(input, inSandbox, initialized);
  actions.push(...init.actions);
  if (init.actions.some((a) => a.type === 'StartContainer')) actions.push(...planPrune(input));
  waits.push(...init.waits);
  if (init.failed) return { actions: killPodUnlessStopped(input, false, 'an init container failed'), waits: [] };
  if (!init.done) return withResize(input, { actions, waits }, false);

  const regular = planRegular(input);
  const nothingToRun = regular.kept === 0 && regular.actions.length === 0 && regular.waits.length === 0;
  if (nothingToRun) {
    const stillRuns = observed.containers.some((c) => !isNotRunning(c));
    return { actions: stillRuns ? [{ type: 'KillPod', purgeInit: false, why: 'no container is to run' }] : [], waits: [] };
  }
  return withResize(input, { actions: [...actions, ...regular.actions], waits: [...waits, ...regular.waits] }, true);
}

/** A resize is a stage of its own, after what is stopped and before what is started. */
function withResize(input: PlanInput, plan: Plan, initialized: boolean): Plan {
  const resize = planResize(input, plan.actions, initialized);
  return resize === undefined ? plan : { ...plan, actions: [resize] };
}
