import type { NodeCondition } from '../kube/types.ts';

/** Something that the node's change of state is told with. */
export interface NodeNote {
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
}

export type Pressure = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure';

/** By condition: reason and message when it is on and off. The event's reason is the condition's with Node for Kubelet. */
const pressures: Readonly<Record<Pressure, Readonly<Record<'True' | 'False', readonly [reason: string, message: string]>>>> = {
  MemoryPressure: {
    True: ['HasInsufficientMemory', 'kubelet has insufficient memory available'],
    False: ['HasSufficientMemory', 'kubelet has sufficient memory available'],
  },
  DiskPressure: {
    True: ['HasDiskPressure', 'kubelet has disk pressure'],
    False: ['HasNoDiskPressure', 'kubelet has no disk pressure'],
  },
  PIDPressure: {
    True: ['HasInsufficientPID', 'kubelet has insufficient PID available'],
    False: ['HasSufficientPID', 'kubelet has sufficient PID available'],
  },
};

/** What the conditions are made of. */
export interface ConditionFacts {
  nodeName: string;
  /** metav1.Time. */
  at: string;
  pressures: Readonly<Record<Pressure, boolean>>;
  /** What keeps the node from being Ready; each once. */
  notReady: readonly string[];
  /** A soft requirement that the machine does not meet. */
  warning?: string | undefined;
  /** Conditions of the agent's own, beside Kubernetes'. */
  further?: readonly Pick<NodeCondition, 'type' | 'status' | 'reason' | 'message'>[] | undefined;
}

/** Messages of Kubernetes' own form for an event about a change of state. */
export function statusNote(nodeName: string, reason: string): NodeNote {
  return { type: 'Normal', reason, message: `Node ${nodeName} status is now: ${reason}` };
}

/**
 * The conditions after this observation: those of others stay where they are, ours are made or brought up to date,
 * Ready last. The heartbeat is always the observation's; the transition only where the status changed. Source:
 * contract events.md §8.
 */
export function nodeConditions(
  before: readonly NodeCondition[],
  facts: ConditionFacts,
): { conditions: NodeCondition[]; notes: NodeNote[] } {
  const conditions = [...before];
  const notes: NodeNote[] = [];
  const put = (condition: NodeCondition): NodeCondition | undefined => {
    const at = conditions.findIndex((c) => c.type === condition.type);
    const old = conditions[at];
    const same = old?.status === condition.status;
    const next = { ...condition, lastHeartbeatTime: facts.at, lastTransitionTime: same ? (old?.lastTransitionTime ?? facts.at) : facts.at };
    if (at === -1) conditions.push(next);
    else conditions[at] = next;
    return old;
  };
  for (const type of Object.keys(pressures) as Pressure[]) {
    const status = facts.pressures[type] ? 'True' : 'False';
    const [reason, message] = pressures[type][status];
    const old = put({ type, status, reason: `Kubelet${reason}`, message });
    if (old?.status !== status) notes.push(statusNote(facts.nodeName, `Node${reason}`));
  }
  for (const condition of facts.further ?? []) put(condition);
  const ready = readyCondition(facts);
  const old = put(ready);
  if (old !== undefined && old.status !== ready.status)
    notes.push(statusNote(facts.nodeName, ready.status === 'True' ? 'NodeReady' : 'NodeNotReady'));
  return { conditions, notes };
}

function readyCondition({ notReady, warning }: ConditionFacts): NodeCondition {
  const suffix = warning === undefined ? '' : `. WARNING: ${warning}`;
  if (notReady.length === 0)
    return { type: 'Ready', status: 'True', reason: 'KubeletReady', message: `kubelet is posting ready status${suffix}` };
  const faults = [...new Set(notReady)];
  const text = faults.length === 1 ? faults[0] : `[${faults.join(', ')}]`;
  return { type: 'Ready', status: 'False', reason: 'KubeletNotReady', message: `${text}${suffix}` };
}

/** The status of a condition; undefined when it is not there. */
export function conditionStatus(conditions: readonly NodeCondition[] | undefined, type: string): NodeCondition['status'] | undefined {
  return conditions?.find((c) => c.type === type)?.status;
}
