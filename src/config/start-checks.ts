import { isIP } from 'node:net';
import { formatDurationMs, parseDuration } from '../api/duration.ts';
import { Quantity } from '../api/quantity.ts';
import { checkManagers } from './manager-checks.ts';
import type { ResolvedConfig } from './resolve.ts';
import { type RuleFault, Rules } from './rules.ts';
import { isNamespacedSysctl, isSysctlPattern } from './sysctls.ts';
import { tlsCipherSuites, tlsCurves, tlsVersions } from './tls-names.ts';
import type { HostFacts } from './validate.ts';

/** Signals that a threshold can name. */
const signals = [
  'memory.available',
  'allocatableMemory.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'imagefs.available',
  'imagefs.inodesFree',
  'containerfs.available',
  'containerfs.inodesFree',
  'pid.available',
];

/**
 * What the real kubelet refuses a little later than validation, while it builds its parts: each of these stops its
 * start, too. Contract: flags-config.md §3.
 */
export function checkStart(c: ResolvedConfig, host: HostFacts): RuleFault[] {
  const rules = new Rules();
  for (const field of ['address', 'healthzBindAddress'] as const) {
    rules.check(isIP(c[field].replace(/%.*$/, '')) !== 0, field, c[field], 'must be an IP address');
  }
  rules.check(c.syncFrequencyMs > 0, 'syncFrequency', formatDurationMs(c.syncFrequencyMs), 'must be greater than zero');
  rules.check(
    c.runtimeRequestTimeoutMs > 0,
    'runtimeRequestTimeout',
    formatDurationMs(c.runtimeRequestTimeoutMs),
    'must be greater than zero',
  );
  rules.choice('authorization.mode', c.authorization.mode, ['AlwaysAllow', 'Webhook']);
  rules.choice('configMapAndSecretChangeDetectionStrategy', c.configMapAndSecretChangeDetectionStrategy, ['Get', 'Cache', 'Watch']);
  const swap = c.memorySwap.swapBehavior;
  rules.check(host.cgroupV2 || swap !== 'LimitedSwap', 'memorySwap.swapBehavior', swap, 'LimitedSwap needs cgroup v2');
  rules.check(c.systemCgroups !== '/', 'systemCgroups', '/', 'must not be the root cgroup');
  checkManagers(c, rules);
  checkTls(c, rules);
  checkThresholds(c, rules);
  checkReservations(c, rules);
  checkSysctls(c, rules);
  checkLogSize(c, rules);
  return rules.faults;
}

function checkTls(c: ResolvedConfig, rules: Rules): void {
  rules.check(
    c.tlsMinVersion === '' || tlsVersions.has(c.tlsMinVersion),
    'tlsMinVersion',
    c.tlsMinVersion,
    `must be one of ${[...tlsVersions].join(', ')}`,
  );
  for (const [i, suite] of c.tlsCipherSuites.entries()) {
    rules.check(
      tlsCipherSuites.has(suite),
      `tlsCipherSuites[${i}]`,
      suite,
      'is no TLS cipher suite',
      'as in TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
    );
  }
  const seen = new Set<number>();
  for (const [i, curve] of c.tlsCurvePreferences.entries()) {
    const field = `tlsCurvePreferences[${i}]`;
    rules.check(tlsCurves.has(curve), field, curve, `must be one of ${[...tlsCurves].map(([n, name]) => `${n} (${name})`).join(', ')}`);
    rules.check(!seen.has(curve), field, curve, 'stands twice');
    seen.add(curve);
  }
}

const percentage = /^([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)%+$/;

function percent(text: string): number | undefined {
  const match = percentage.exec(text);
  return match === null ? undefined : Number(match[1]);
}

function quantity(text: string): Quantity | undefined {
  try {
    return Quantity.parse(text);
  } catch {
    return undefined;
  }
}

function checkThresholds(c: ResolvedConfig, rules: Rules): void {
  for (const name of ['evictionHard', 'evictionSoft'] as const) {
    for (const [signal, text] of Object.entries(c[name])) {
      const field = `${name}[${signal}]`;
      checkSignal(field, signal, rules);
      if (text.endsWith('%')) {
        const value = percent(text);
        rules.check(value !== undefined && value >= 0 && value <= 100, field, text, 'must be a percentage from 0% to 100%');
      } else rules.check(quantity(text)?.sign() === 1, field, text, 'must be a quantity greater than zero, or a percentage');
    }
  }
  for (const [signal, text] of Object.entries(c.evictionSoftGracePeriod)) {
    const field = `evictionSoftGracePeriod[${signal}]`;
    checkSignal(field, signal, rules);
    checkGracePeriod(field, text, rules);
  }
  for (const [signal, text] of Object.entries(c.evictionMinimumReclaim)) {
    const field = `evictionMinimumReclaim[${signal}]`;
    checkSignal(field, signal, rules);
    if (text.endsWith('%')) rules.check((percent(text) ?? 0) > 0, field, text, 'must be a percentage greater than 0%');
    else rules.check((quantity(text)?.sign() ?? -1) >= 0, field, text, 'must be a quantity that is not negative, or a percentage');
  }
  for (const [signal, text] of Object.entries(c.evictionSoft)) {
    if (text === '0%' || text === '100%') continue;
    const has = Object.hasOwn(c.evictionSoftGracePeriod, signal);
    rules.check(has, `evictionSoft[${signal}]`, text, 'needs a grace period', `set evictionSoftGracePeriod[${signal}]`);
  }
}

function checkSignal(field: string, signal: string, rules: Rules): void {
  rules.check(signals.includes(signal), field, undefined, `is no eviction signal; there are ${signals.join(', ')}`);
}

function checkGracePeriod(field: string, text: string, rules: Rules): void {
  let period: bigint | undefined;
  try {
    period = parseDuration(text);
  } catch {
    period = undefined;
  }
  rules.check(period !== undefined && period >= 0n, field, text, 'must be a duration that is not negative', 'as in 1m30s');
}

const reservable = ['cpu', 'memory', 'ephemeral-storage', 'pid'];

function checkReservations(c: ResolvedConfig, rules: Rules): void {
  for (const name of ['systemReserved', 'kubeReserved'] as const) {
    for (const [resource, text] of Object.entries(c[name])) {
      const field = `${name}[${resource}]`;
      rules.check(
        reservable.includes(resource),
        field,
        undefined,
        `is no resource that can be reserved; there are ${reservable.join(', ')}`,
      );
      rules.check((quantity(text)?.sign() ?? -1) >= 0, field, text, 'must be a quantity that is not negative', 'as in 200m, 500Mi or 1000');
    }
  }
  const qos = Object.entries(c.qosReserved);
  if (qos.length > 0) rules.gate(c.gates.enabled('QOSReserved'), 'qosReserved', undefined, 'QOSReserved');
  for (const [resource, text] of qos) {
    const field = `qosReserved[${resource}]`;
    rules.check(resource === 'memory', field, undefined, 'must be memory');
    const value = /^\d+%$/.test(text) ? Number(text.slice(0, -1)) : -1;
    rules.check(value >= 0 && value <= 100, field, text, 'must be a percentage from 0% to 100%');
  }
}

function checkSysctls(c: ResolvedConfig, rules: Rules): void {
  for (const [i, pattern] of c.allowedUnsafeSysctls.entries()) {
    const field = `allowedUnsafeSysctls[${i}]`;
    if (!isSysctlPattern(pattern)) rules.check(false, field, pattern, 'must be the name of a sysctl, or a prefix that ends in *');
    else rules.check(isNamespacedSysctl(pattern), field, pattern, 'is not known to be namespaced');
  }
}

function checkLogSize(c: ResolvedConfig, rules: Rules): void {
  const size = quantity(c.containerLogMaxSize);
  rules.check(
    size !== undefined,
    'containerLogMaxSize',
    c.containerLogMaxSize,
    'must be a quantity',
    'as in 10Mi; negative switches rotation off',
  );
}
