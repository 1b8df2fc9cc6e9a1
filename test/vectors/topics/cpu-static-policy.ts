import { CpuSet } from '../../../src/api/cpuset.ts';
import { findContainer } from '../../../src/api/pod.ts';
import type { Pod } from '../../../src/api/types.ts';
import { staticPolicyOptions } from '../../../src/config/cpu-policy-options.ts';
import { defaultGates } from '../../../src/config/feature-gates.ts';
import { assigned } from '../../../src/resources/assignments.ts';
import { type CpuState, emptyCpuState } from '../../../src/resources/cpu/state.ts';
import {
  allocatableCpus,
  allocateCpus,
  containerCpuHints,
  createStaticPolicy,
  releaseCpus,
  startState,
} from '../../../src/resources/cpu/static-policy.ts';
import { numaMask, numaNodes } from '../../../src/resources/topology/numa-mask.ts';
import { topologyOf } from '../../support/cpuTopology.ts';
import { type Checker, expectSame } from '../checker.ts';

interface Step {
  op: 'allocate' | 'remove' | 'hints';
  pod: string;
  container: string;
}

/** Two texts of an error, which are the contract's own: programs and people read them in the pod's status. */
const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

export const check: Checker = (c) =>
  expectSame(c, () => {
    const options = staticPolicyOptions((c.in['options'] ?? {}) as Record<string, string>, (gate) => defaultGates.enabled(gate));
    const policy = createStaticPolicy({
      topology: topologyOf(c.in['cpus'] as number[][]),
      options,
      reservedCount: Number(c.in['numReserved']),
      reservedCpus: CpuSet.parse(String(c.in['reserved'])),
      singleNumaNode: false,
    });
    let state: CpuState = startState(policy, emptyCpuState);
    const startDefault = state.defaultSet.toString();
    const affinity = c.in['affinity'] as number[] | null;
    const steps = (c.in['steps'] as Step[]).map(({ op, pod: podName, container: name }) => {
      const pod = (c.in['pods'] as Record<string, Pod>)[podName];
      const container = pod === undefined ? undefined : findContainer(pod, name)?.container;
      if (pod === undefined || container === undefined) throw new Error(`no container ${name} of pod ${podName}`);
      if (op === 'hints') {
        const hints = containerCpuHints(policy, state, pod, container);
        if (hints === undefined) return { hints: null };
        const list = (hints.get('cpu') ?? []).map((hint) => ({ numa: numaNodes(hint.affinity ?? 0n), preferred: hint.preferred }));
        return { hints: { cpu: list.sort(byNodes) } };
      }
      let error: string | undefined;
      try {
        if (op === 'remove') state = releaseCpus(state, pod.metadata.uid, name);
        else state = allocateCpus(policy, state, pod, container, affinity === null ? undefined : numaMask(affinity)).state;
      } catch (err) {
        error = messageOf(err);
      }
      const exclusive = assigned(state, pod.metadata.uid, name)?.toString() ?? '';
      return { default: state.defaultSet.toString(), exclusive, ...(error === undefined ? {} : { error }) };
    });
    return { allocatable: allocatableCpus(policy).toString(), startDefault, steps };
  });

/** The vectors list hints by the text of their nodes. */
function byNodes(a: { numa: number[] }, b: { numa: number[] }): number {
  const [x, y] = [JSON.stringify(a.numa), JSON.stringify(b.numa)];
  return x < y ? -1 : x > y ? 1 : 0;
}
