import { shouldRestartAllContainers } from '../../../src/api/restart.ts';
import { type SandboxRecord, sandboxVerdict } from '../../../src/api/sandbox.ts';
import type { ContainerStatus, Pod, PodCondition, PodPhase, PodStatus } from '../../../src/api/types.ts';
import {
  allContainersRestartingCondition,
  containersReadyCondition,
  initializedCondition,
  readyCondition,
  readyToStartContainersCondition,
} from '../../../src/status/conditions.ts';
import { type Checker, classOf, expectSame } from '../checker.ts';
import { type RuntimeStatusVector, runtimeRecords } from '../runtime-records.ts';

interface SandboxVector {
  ready: boolean;
  attempt?: number;
  hostNetwork: boolean;
  ip: string | null;
}

/** The vectors name the sandboxes sb0, sb1, ... newest first. */
const sandboxRecord = (s: SandboxVector, index: number): SandboxRecord => ({
  id: `sb${index}`,
  attempt: s.attempt ?? 0,
  state: s.ready ? 'ready' : 'notready',
  status: {
    ...(typeof s.ip === 'string' ? { network: { ip: s.ip } } : {}),
    namespaceOptions: { network: s.hostNetwork ? 'NODE' : 'POD' },
  },
});

export const check: Checker = (c) =>
  expectSame(c, () => {
    const pod = c.in['pod'] as Pod;
    const phase = c.in['phase'] as PodPhase;
    const old = c.in['oldStatus'] as PodStatus | undefined;
    if (classOf(c) === 'sandbox') {
      const sandboxes = ((c.in['sandboxes'] ?? []) as SandboxVector[]).map(sandboxRecord);
      const verdict = sandboxVerdict(pod, sandboxes);
      return {
        changed: verdict.changed,
        nextAttempt: verdict.attempt,
        sandboxID: verdict.oldId,
        reason: verdict.changed ? verdict.message : '',
        readyToStartContainers: readyToStartContainersCondition(pod, sandboxes),
      };
    }
    if (classOf(c) === 'restart-all') {
      const records = runtimeRecords(c.in['runtimeStatuses'] as RuntimeStatusVector[] | null);
      return {
        allContainersRestarting: allContainersRestartingCondition(pod, records, old, phase),
        shouldAllRestart: shouldRestartAllContainers(pod, records, old),
      };
    }
    const statuses = (c.in['statuses'] ?? undefined) as ContainerStatus[] | undefined;
    return {
      containersReady: containersReadyCondition(pod, statuses, phase),
      ready: readyCondition(pod, (c.in['conditions'] ?? []) as PodCondition[], statuses, phase),
      initialized: initializedCondition(pod, old, statuses, phase),
    };
  });
