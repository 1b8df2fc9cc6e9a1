import { formatDurationMs } from '../api/duration.ts';
import { labelValueFaults, qualifiedNameFaults } from '../api/names.ts';
import { cleanPath } from '../api/path.ts';
import { Quantity } from '../api/quantity.ts';
import { isMemoryResource } from '../api/resource-names.ts';
import { cpusetFault } from './cpuset.ts';
import type { ResolvedConfig } from './resolve.ts';
import { type RuleFault, Rules } from './rules.ts';
import { isNamespacedSysctl, isSysctlName, normalizeSysctl } from './sysctls.ts';
import { validateEnforcement } from './validate-enforcement.ts';
import { validateImages } from './validate-images.ts';
import { validateLogging, validateTracing } from './validate-logging.ts';

export interface HostFacts {
  cgroupV2: boolean;
}

const atLeast = [
  ['nodeLeaseDurationSeconds', 1],
  ['eventBurst', 0],
  ['eventRecordQPS', 0],
  ['kubeAPIBurst', 0],
  ['kubeAPIQPS', 0],
  ['nodeStatusMaxImages', -1],
  ['maxOpenFiles', 0],
  ['maxPods', 0],
  ['podsPerCore', 0],
  ['registryBurst', 0],
  ['registryPullQPS', 0],
  ['containerLogMaxWorkers', 1],
  ['containerLogMaxFiles', 2],
] as const;

const ranges = [
  ['port', 1, 65535],
  ['imageGCHighThresholdPercent', 0, 100],
  ['imageGCLowThresholdPercent', 0, 100],
  ['iptablesDropBit', 0, 31],
  ['iptablesMasqueradeBit', 0, 31],
  ['oomScoreAdj', -1000, 1000],
] as const;

const choices = [
  ['topologyManagerPolicy', ['none', 'best-effort', 'restricted', 'single-numa-node']],
  ['topologyManagerScope', ['container', 'pod']],
  ['hairpinMode', ['promiscuous-bridge', 'hairpin-veth', 'none']],
  ['memoryReservationPolicy', ['None', 'TieredReservation']],
] as const;

/**
 * The rules that the real kubelet checks in one go before it starts (contract: flags-config.md §3). What it checks
 * later, while it builds its parts, is in start-checks.ts. Feature gates are checked where they are applied.
 */
export function validateConfig(c: ResolvedConfig, host: HostFacts): RuleFault[] {
  const rules = new Rules();
  for (const [field, least] of atLeast) rules.check(c[field] >= least, field, c[field], `must be at least ${least}`);
  for (const [field, least, most] of ranges) rules.range(field, c[field], least, most);
  for (const field of ['healthzPort', 'readOnlyPort'] as const) {
    if (c[field] !== 0) rules.range(field, c[field], 1, 65535, '0 switches it off');
  }
  for (const [field, known] of choices) rules.choice(field, c[field], known);
  validateImageGc(c, rules);
  validateResources(c, rules);
  validateShutdown(c, rules);
  validateMisc(c, rules);
  validateSysctls(c, rules);
  validateTaints(c, rules);
  validateReservedMemory(c, rules);
  validateEnforcement(c, rules);
  validateImages(c, rules);
  validateLogging(c, rules);
  validateTracing(c, rules);
  validateHost(c, host, rules);
  return rules.faults;
}

function validateImageGc(c: ResolvedConfig, rules: Rules): void {
  const low = c.imageGCLowThresholdPercent;
  const high = c.imageGCHighThresholdPercent;
  rules.check(low < high, 'imageGCLowThresholdPercent', low, `must be less than imageGCHighThresholdPercent, which is ${high}`);
  const youngest = c.imageMinimumGCAgeMs;
  const oldest = c.imageMaximumGCAgeMs;
  if (oldest !== 0) rules.gate(c.gates.enabled('ImageMaximumGCAge'), 'imageMaximumGCAge', undefined, 'ImageMaximumGCAge');
  rules.check(youngest >= 0, 'imageMinimumGCAge', formatDurationMs(youngest), 'must not be negative');
  rules.check(oldest >= 0, 'imageMaximumGCAge', formatDurationMs(oldest), 'must not be negative');
  rules.check(
    oldest <= 0 || oldest > youngest,
    'imageMaximumGCAge',
    formatDurationMs(oldest),
    `must be greater than imageMinimumGCAge, which is ${formatDurationMs(youngest)}`,
    '0 switches it off',
  );
}

/** The value that older kubelets had as default; files that still carry it must work without the gate. */
const formerThrottlingFactor = 0.9;

function validateResources(c: ResolvedConfig, rules: Rules): void {
  rules.check(c.systemCgroups === '' || c.cgroupRoot !== '', 'systemCgroups', c.systemCgroups, 'needs cgroupRoot to be set');
  const period = c.cpuCFSQuotaPeriodMs;
  if (c.gates.enabled('CustomCPUCFSQuotaPeriod')) {
    rules.check(period >= 1 && period <= 1000, 'cpuCFSQuotaPeriod', formatDurationMs(period), 'must be between 1ms and 1s');
  } else rules.gate(period === 100, 'cpuCFSQuotaPeriod', formatDurationMs(period), 'CustomCPUCFSQuotaPeriod');
  if (c.reservedSystemCPUs !== '') {
    const cgroup = c.systemReservedCgroup !== '' || c.kubeReservedCgroup !== '';
    const cpus = c.reservedSystemCPUs;
    rules.check(!cgroup, 'reservedSystemCPUs', cpus, 'cannot be used together with systemReservedCgroup or kubeReservedCgroup');
    const fault = cpusetFault(cpus);
    rules.check(fault === undefined, 'reservedSystemCPUs', cpus, fault ?? '', 'as in 0-3,8');
  }
  const swap = c.memorySwap.swapBehavior;
  if (c.gates.enabled('NodeSwap')) rules.choice('memorySwap.swapBehavior', swap, ['', 'NoSwap', 'LimitedSwap']);
  else rules.gate(swap === '', 'memorySwap.swapBehavior', swap, 'NodeSwap');

  const qos = c.gates.enabled('MemoryQoS');
  const factor = c.memoryThrottlingFactor;
  if (factor !== undefined) {
    rules.gate(qos || factor === formerThrottlingFactor, 'memoryThrottlingFactor', factor, 'MemoryQoS');
    rules.check(factor > 0 && factor <= 1, 'memoryThrottlingFactor', factor, 'must be greater than 0 and at most 1');
  }
  if (c.memoryReservationPolicy === 'TieredReservation') rules.gate(qos, 'memoryReservationPolicy', 'TieredReservation', 'MemoryQoS');
}

function validateShutdown(c: ResolvedConfig, rules: Rules): void {
  const all = c.shutdownGracePeriodMs;
  const critical = c.shutdownGracePeriodCriticalPodsMs;
  const given = all > 0 || critical > 0;
  const rule = 'must be 0 or at least 1s';
  if (c.gates.enabled('GracefulNodeShutdown')) {
    rules.check(
      critical <= all,
      'shutdownGracePeriodCriticalPods',
      formatDurationMs(critical),
      `must be at most shutdownGracePeriod, which is ${formatDurationMs(all)}`,
    );
    rules.check(all === 0 || all >= 1000, 'shutdownGracePeriod', formatDurationMs(all), rule);
    rules.check(critical === 0 || critical >= 1000, 'shutdownGracePeriodCriticalPods', formatDurationMs(critical), rule);
  } else rules.gate(!given, 'shutdownGracePeriod', formatDurationMs(all), 'GracefulNodeShutdown');
  if (c.shutdownGracePeriodByPodPriority.length === 0) return;
  const field = 'shutdownGracePeriodByPodPriority';
  if (c.gates.enabled('GracefulNodeShutdownBasedOnPodPriority')) {
    rules.check(!given, field, undefined, 'cannot be used together with shutdownGracePeriod and shutdownGracePeriodCriticalPods');
  } else rules.gate(false, field, undefined, 'GracefulNodeShutdownBasedOnPodPriority');
}

const minLogInterval = 3000;
/** The minor version before ours, whose hidden metrics can be shown. */
const previousMinor = '1.36';

function validateMisc(c: ResolvedConfig, rules: Rules): void {
  const bootstrap = c.gates.enabled('RotateKubeletServerCertificate');
  if (c.serverTLSBootstrap) rules.gate(bootstrap, 'serverTLSBootstrap', true, 'RotateKubeletServerCertificate');
  rules.check(!c.runOnce, 'runOnce', true, 'is no longer supported', 'remove it');
  const period = c.crashLoopBackOff.maxContainerRestartPeriodMs;
  const field = 'crashLoopBackOff.maxContainerRestartPeriod';
  if (!c.gates.enabled('KubeletCrashLoopBackOffMax')) {
    rules.gate(period === undefined, field, period === undefined ? undefined : formatDurationMs(period), 'KubeletCrashLoopBackOffMax');
  } else if (period === undefined) {
    rules.check(false, field, undefined, 'must be set while the feature gate KubeletCrashLoopBackOffMax is on');
  } else {
    const whole = Math.trunc(period);
    rules.check(whole >= 1000 && whole <= 300_000, field, formatDurationMs(period), 'must be between 1s and 300s');
  }
  const version = c.showHiddenMetricsForVersion;
  rules.check(version === '' || version === previousMinor, 'showHiddenMetricsForVersion', version, `must be absent or ${previousMinor}`);
  rules.check(c.containerRuntimeEndpoint !== '', 'containerRuntimeEndpoint', '', 'must not be empty');
  if (c.enableSystemLogQuery) {
    rules.gate(c.gates.enabled('NodeLogQuery'), 'enableSystemLogQuery', true, 'NodeLogQuery');
    rules.check(c.enableSystemLogHandler, 'enableSystemLogQuery', true, 'needs enableSystemLogHandler');
  }
  const interval = c.containerLogMonitorIntervalMs;
  rules.check(interval >= minLogInterval, 'containerLogMonitorInterval', formatDurationMs(interval), 'must be at least 3s');
  validatePodLogsDir(c.podLogsDir, rules);
}

function validatePodLogsDir(path: string, rules: Rules): void {
  rules.check(path !== '', 'podLogsDir', undefined, 'must not be empty');
  rules.check(path.startsWith('/'), 'podLogsDir', path, 'must be an absolute path');
  rules.check(
    path === cleanPath(path),
    'podLogsDir',
    path,
    'must be in its shortest form: no double slash, no . or .., no slash at the end',
  );
  // It becomes part of metrics.
  rules.check(
    [...path].every((c) => c <= '\u007f'),
    'podLogsDir',
    path,
    'must consist of ASCII characters',
  );
}

function validateSysctls(c: ResolvedConfig, rules: Rules): void {
  const names = Object.keys(c.defaultPodSysctls);
  if (names.length === 0) return;
  if (!c.gates.enabled('DefaultPodSysctls')) {
    rules.gate(false, 'defaultPodSysctls', undefined, 'DefaultPodSysctls');
    return;
  }
  const seen = new Set<string>();
  for (const name of names) {
    const field = `defaultPodSysctls[${name}]`;
    if (!isSysctlName(name)) {
      rules.check(false, field, undefined, 'is not the name of a sysctl');
      continue;
    }
    rules.check(
      isNamespacedSysctl(name),
      field,
      undefined,
      'is not known to be namespaced',
      'only sysctls of which each pod has its own can be set',
    );
    const normal = normalizeSysctl(name);
    rules.check(!seen.has(normal), field, undefined, `stands twice: with dots and with slashes it is ${normal}`);
    seen.add(normal);
  }
}

const effects = ['', 'NoSchedule', 'PreferNoSchedule', 'NoExecute'];

function validateTaints(c: ResolvedConfig, rules: Rules): void {
  for (const [i, taint] of c.registerWithTaints.entries()) {
    const field = `registerWithTaints[${i}]`;
    const keyFault = qualifiedNameFaults(taint.key)[0];
    const valueFault = labelValueFaults(taint.value ?? '')[0];
    if (keyFault !== undefined) rules.check(false, `${field}.key`, taint.key, keyFault);
    else if (valueFault !== undefined) rules.check(false, `${field}.value`, taint.value, valueFault);
    else rules.choice(`${field}.effect`, taint.effect, effects);
    rules.check(taint.timeAdded === undefined, `${field}.timeAdded`, taint.timeAdded, 'must not be set');
  }
}

function validateReservedMemory(c: ResolvedConfig, rules: Rules): void {
  const seen = new Set<string>();
  for (const [i, reservation] of c.reservedMemory.entries()) {
    for (const [resource, amount] of Object.entries(reservation.limits ?? {})) {
      const field = `reservedMemory[${i}].limits[${resource}]`;
      const id = `${reservation.numaNode} ${resource}`;
      rules.check(isMemoryResource(resource), field, undefined, 'must be memory or hugepages-<size>');
      rules.check(!Quantity.parse(amount).isZero(), field, amount, 'must not be zero');
      rules.check(!seen.has(id), field, amount, `is given twice for NUMA node ${reservation.numaNode}`);
      seen.add(id);
    }
  }
}

const idsUnit = 65_536;

function validateHost(c: ResolvedConfig, host: HostFacts, rules: Rules): void {
  if (!host.cgroupV2) {
    if (c.failCgroupV1) {
      rules.check(false, 'failCgroupV1', true, 'this host has cgroup v1', 'boot with cgroup v2, or set failCgroupV1 to false');
      return;
    }
    if (c.singleProcessOOMKill === false) {
      rules.check(false, 'singleProcessOOMKill', false, 'must not be false on cgroup v1');
      return;
    }
  }
  const ids = c.userNamespaces?.idsPerPod;
  if (ids === undefined) return;
  const field = 'userNamespaces.idsPerPod';
  if (ids < idsUnit) rules.check(false, field, ids, `must be at least ${idsUnit}`);
  else if (ids % idsUnit !== 0) rules.check(false, field, ids, `must be a multiple of ${idsUnit}`);
  else rules.check(ids <= 2 ** 32 - 1, field, ids, `must be at most ${2 ** 32 - 1}`);
}
