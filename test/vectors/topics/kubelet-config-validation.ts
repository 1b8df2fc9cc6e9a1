import { resolveConfig } from '../../../src/config/resolve.ts';
import type { KubeletConfiguration } from '../../../src/config/types.ts';
import { validateConfig } from '../../../src/config/validate.ts';
import { type Checker, differences, fail, pass } from '../checker.ts';
import { loadText } from '../kubelet-config.ts';

/** Messages of the real validation that do not begin with the field's name, and the field that they are about. */
const aboutField: readonly (readonly [RegExp, string])[] = [
  [/^invalid taint/, 'registerWithTaints'],
  [/taint\.TimeAdded/, 'registerWithTaints'],
  [/NUMA node/, 'reservedMemory'],
  [/defaultPodSysctls/, 'defaultPodSysctls'],
  [/cgroup v1\. cgroup v1 support/, 'failCgroupV1'],
  [/pod logs path/, 'podLogsDir'],
  [/preloadedImagesVerificationAllowlist/, 'preloadedImagesVerificationAllowlist'],
  [
    /specified for imagePullCredentialsVerificationPolicy|`imagePullCredentialsVerificationPolicy` must not/,
    'imagePullCredentialsVerificationPolicy',
  ],
  [/specified for hairpinMode/, 'hairpinMode'],
  [/memoryReservationPolicy/, 'memoryReservationPolicy'],
  [
    /(?:specified|Valid options).*enforceNodeAllocatable|option .* specified for enforceNodeAllocatable|duplicated enforcements|both ".*" and ".*" cannot/,
    'enforceNodeAllocatable',
  ],
  [/CrashLoopBackOff\.MaxContainerRestartPeriod/, 'crashLoopBackOff.maxContainerRestartPeriod'],
  [/ImageMaximumGCAge feature gate/, 'imageMaximumGCAge'],
  [/NodeLogQuery feature gate|enableSystemLogHandler is required/, 'enableSystemLogQuery'],
  [/can't use reservedSystemCPUs|unable to parse reservedSystemCPUs/, 'reservedSystemCPUs'],
  [/containerRuntimeEndpoint/, 'containerRuntimeEndpoint'],
  [/shutdownGracePeriodByPodPriority/, 'shutdownGracePeriodByPodPriority'],
  [/specifying shutdownGracePeriod or/, 'shutdownGracePeriod'],
  [/showHiddenMetricsForVersion/, 'showHiddenMetricsForVersion'],
];

/** Fields that only in their message stand in the middle. These come first: the message names a second field, too. */
const first: readonly (readonly [RegExp, string])[] = [
  [/^invalid configuration: (systemReservedCgroup|kubeReservedCgroup|cgroupsPerQOS) /, '$1'],
  [/^invalid configuration: (systemCgroups) /, '$1'],
];

/** The top-level field (or section) that one of the real validation's messages is about. */
function topField(message: string): string {
  for (const [pattern, field] of [...first, ...aboutField]) {
    const match = pattern.exec(message);
    if (match !== null) return top(field.replace('$1', match[1] ?? ''));
  }
  return top(/^(?:invalid configuration: )?([A-Za-z][\w.]*)/.exec(message)?.[1] ?? message);
}

const top = (field: string): string => /^[^.[]*/.exec(field)?.[0] ?? field;

export const check: Checker = (c) => {
  const { file, cgroup2 } = c.in;
  if (typeof file !== 'string') return fail('in.file is no text');
  const loaded = loadText(file);
  if (c.error !== undefined) return loaded.faults.length > 0 ? pass : fail(`want a refusal (${c.error}), got none`);
  const out = c.out as { valid?: boolean; errors?: string[]; loadError?: string };
  if (out.loadError !== undefined) return loaded.faults.length > 0 ? pass : fail(`want a refusal (${out.loadError}), got none`);
  if (loaded.faults.length > 0) return fail(`refused while loading: ${loaded.faults.join('; ')}`);
  const faults = validateConfig(resolveConfig(loaded.config as unknown as KubeletConfiguration), { cgroupV2: cgroup2 !== false });
  if (out.valid !== (faults.length === 0)) return fail(`want valid ${out.valid}, got ${JSON.stringify(faults)}`);
  const want = (out.errors ?? []).map(topField).sort();
  const found = differences(want, faults.map((f) => top(f.field)).sort(), 'fields');
  return found.length === 0 ? pass : fail(`${found.join('; ')} (${JSON.stringify(faults)})`);
};
