import { appArmorFault } from '../admission/app-armor.ts';
import { type AdmissionCheck, type AdmissionVerdict, admitPod } from '../admission/chain.ts';
import { type AdmissionNode, generalPredicates } from '../admission/general-predicates.ts';
import { declaredFeaturesCheck, podLevelResourcesCheck } from '../admission/pod-features.ts';
import type { Pod } from '../api/types.ts';
import type { ResolvedConfig } from '../config/resolve.ts';
import type { RuntimeStatus } from '../cri/types.ts';
import { isAppArmorEnabled } from '../host/app-armor.ts';
import { declaredFeatures } from '../node/declared-features.ts';
import { SysctlAllowlist, safeSysctls } from '../sync/sysctls.ts';

export interface AdmissionInput {
  config: ResolvedConfig;
  /** `uname -r`. */
  kernelVersion: string;
  node(): AdmissionNode;
  /** What the runtime said of itself last. */
  runtimeFeatures(): RuntimeStatus['features'];
  /** Pressure of the node; before all others. */
  pressure?: AdmissionCheck;
  /** Resource managers, before the predicates. */
  managers?: readonly AdmissionCheck[];
  /** Shutdown of the node; after all others. */
  shutdown?: AdmissionCheck;
}

/** Whether this machine takes a pod, in the order of contract events.md §6. */
export async function nodeAdmission(input: AdmissionInput): Promise<(pod: Pod, others: readonly Pod[]) => AdmissionVerdict> {
  const { config, node, pressure, managers = [], shutdown } = input;
  const { gates } = config;
  const sysctls = new SysctlAllowlist([...safeSysctls(input.kernelVersion), ...config.allowedUnsafeSysctls]);
  const sysctlCheck: AdmissionCheck = { name: 'sysctl', admit: (pod) => sysctls.refusal(pod) };
  const hasAppArmor = await isAppArmorEnabled();
  const chain = {
    before: [...(pressure === undefined ? [] : [pressure]), sysctlCheck, ...managers],
    predicates: (pod: Pod, others: readonly Pod[]) => generalPredicates(pod, others, node()),
    after: [
      { name: 'apparmor', admit: (pod: Pod) => appArmorFault(pod, hasAppArmor) },
      podLevelResourcesCheck(gates.enabled('PodLevelResources')),
      declaredFeaturesCheck(() => declaredFeatures(gates, input.runtimeFeatures())),
      ...(shutdown === undefined ? [] : [shutdown]),
    ],
  };
  return (pod, others) => admitPod(chain, pod, others);
}
