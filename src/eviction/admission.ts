import type { AdmissionCheck } from '../admission/chain.ts';
import { tolerates } from '../admission/tolerations.ts';
import { isCriticalPod } from '../api/pod.ts';
import { getPodQOS } from '../api/qos.ts';
import type { Pressure } from './observations.ts';

const MemoryPressureTaint = { key: 'node.kubernetes.io/memory-pressure', effect: 'NoSchedule' };

/** Refuses pods while the node is short of something (contract: node.md §3, admission under pressure). */
export function pressureCheck(pressures: () => readonly Pressure[]): AdmissionCheck {
  return {
    name: 'eviction',
    admit: (pod) => {
      const present = pressures();
      if (present.length === 0 || isCriticalPod(pod)) return undefined;
      if (present.length === 1 && present[0] === 'MemoryPressure') {
        const tolerated = (pod.spec.tolerations ?? []).some((toleration) => tolerates(toleration, MemoryPressureTaint));
        if (tolerated || getPodQOS(pod) !== 'BestEffort') return undefined;
      }
      return { reason: 'Evicted', message: `The node had condition: [${present.join(' ')}]. ` };
    },
  };
}
