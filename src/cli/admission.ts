import { appArmorFault } from '../admission/app-armor.ts';
import { type AdmissionNode, generalPredicates, type Rejection } from '../admission/general-predicates.ts';
import type { Pod } from '../api/types.ts';
import { isAppArmorEnabled } from '../host/app-armor.ts';
import { SysctlAllowlist, safeSysctls } from '../sync/sysctls.ts';

export interface AdmissionInput {
  config: { allowedUnsafeSysctls: readonly string[] };
  kernelVersion: string;
  node(): AdmissionNode;
}

/** The checks that a pod passes before it begins, in their order (contract: events.md §6); the first that fails tells. */
export async function nodeAdmission({ config, kernelVersion, node }: AdmissionInput) {
  const sysctls = new SysctlAllowlist([...safeSysctls(kernelVersion), ...config.allowedUnsafeSysctls]);
  const isAppArmor = await isAppArmorEnabled();
  return (pod: Pod, others: readonly Pod[]): Rejection | undefined =>
    sysctls.refusal(pod) ?? generalPredicates(pod, others, node())[0] ?? appArmorFault(pod, isAppArmor);
}
