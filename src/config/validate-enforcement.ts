import type { ResolvedConfig } from './resolve.ts';
import type { Rules } from './rules.ts';

const enforcements = ['pods', 'system-reserved', 'system-reserved-compressible', 'kube-reserved', 'kube-reserved-compressible', 'none'];
const field = 'enforceNodeAllocatable';

/** enforceNodeAllocatable and what its entries need. Contract: flags-config.md §3. */
export function validateEnforcement(c: ResolvedConfig, rules: Rules): void {
  const entries = c.enforceNodeAllocatable;
  for (const kind of ['system-reserved', 'kube-reserved']) {
    const both = entries.includes(kind) && entries.includes(`${kind}-compressible`);
    rules.check(!both, field, undefined, `cannot hold both ${kind} and ${kind}-compressible`);
  }
  const seen = new Set<string>();
  for (const [i, entry] of entries.entries()) {
    const at = `${field}[${i}]`;
    if (seen.has(entry)) {
      rules.check(false, at, entry, 'stands twice');
      continue;
    }
    seen.add(entry);
    if (entry === 'none') {
      rules.check(entries.length === 1, at, entry, 'cannot stand beside other entries');
      continue;
    }
    if (!enforcements.includes(entry)) {
      rules.choice(at, entry, enforcements);
      continue;
    }
    const set = `must be set while ${field} has ${entry}`;
    if (entry.startsWith('system-reserved')) rules.needed(c.systemReservedCgroup !== '', 'systemReservedCgroup', at, set);
    if (entry.startsWith('kube-reserved')) rules.needed(c.kubeReservedCgroup !== '', 'kubeReservedCgroup', at, set);
    rules.check(c.cgroupsPerQOS, 'cgroupsPerQOS', false, `must be true while ${field} has ${entry}`);
  }
}
