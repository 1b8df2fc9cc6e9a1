import { Quantity, QuantityError } from '../api/quantity.ts';
import { staticPolicyOptions } from './cpu-policy-options.ts';
import { PolicyOptionError } from './policy-options.ts';
import type { ResolvedConfig } from './resolve.ts';
import type { Rules } from './rules.ts';
import { topologyPolicyOptions } from './topology-policy-options.ts';

/** Policies of the CPU, memory and topology managers, as far as the configuration alone can tell. Contract: node.md §5 and §6. */
export function checkManagers(c: ResolvedConfig, rules: Rules): void {
  rules.choice('cpuManagerPolicy', c.cpuManagerPolicy, ['none', 'static']);
  rules.choice('memoryManagerPolicy', c.memoryManagerPolicy, ['None', 'Static']);
  const hasOptions = Object.keys(c.cpuManagerPolicyOptions).length > 0;
  if (c.cpuManagerPolicy === 'none') {
    rules.check(
      !hasOptions,
      'cpuManagerPolicyOptions',
      undefined,
      'cannot be used with cpuManagerPolicy none',
      'set cpuManagerPolicy: static, or remove them',
    );
  }
  if (c.cpuManagerPolicy === 'static') checkStaticCpus(c, rules);
  if (c.topologyManagerPolicy !== 'none') optionsOf(rules, () => topologyPolicyOptions(c.topologyManagerPolicyOptions));
  if (c.memoryManagerPolicy === 'Static') {
    rules.needed(c.reservedMemory.length > 0, 'reservedMemory', 'memoryManagerPolicy', 'must be set while memoryManagerPolicy is Static');
  }
}

function checkStaticCpus(c: ResolvedConfig, rules: Rules): void {
  const isReserved = c.reservedSystemCPUs !== '' || [c.systemReserved, c.kubeReserved].some((list) => isPositive(list['cpu']));
  const rule =
    'must be set, or cpu in systemReserved or kubeReserved, while cpuManagerPolicy is static: some CPU must be left for the system';
  rules.needed(isReserved, 'reservedSystemCPUs', 'cpuManagerPolicy', rule);
  const options = optionsOf(rules, () => staticPolicyOptions(c.cpuManagerPolicyOptions, (gate) => c.gates.enabled(gate)));
  const isSingle = c.topologyManagerPolicy === 'single-numa-node';
  rules.check(
    !(options?.alignBySocket === true && isSingle),
    'cpuManagerPolicyOptions[align-by-socket]',
    undefined,
    'cannot be used with topologyManagerPolicy single-numa-node',
  );
}

function optionsOf<T>(rules: Rules, read: () => T): T | undefined {
  try {
    return read();
  } catch (err) {
    if (!(err instanceof PolicyOptionError)) throw err;
    rules.check(false, err.field, undefined, err.rule);
    return undefined;
  }
}

function isPositive(text: string | number | undefined): boolean {
  try {
    return text !== undefined && Quantity.fromJson(text).sign() > 0;
  } catch (err) {
    // Told by the check of the reservations.
    if (err instanceof QuantityError) return true;
    throw err;
  }
}
