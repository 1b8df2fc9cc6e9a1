import type { Pod } from '../../../src/api/types.ts';
import { normalizeSysctl, SysctlAllowlist, safeSysctls, sysctlNamespace } from '../../../src/sync/sysctls.ts';
import { type Checker, classOf, expectSame } from '../checker.ts';

const ADMIT_KERNEL = '6.8';

export const check: Checker = (c) =>
  expectSame(c, () => {
    const patterns = (c.in['patterns'] ?? []) as string[];
    switch (classOf(c)) {
      case 'safe':
        return { list: safeSysctls(String(c.in['kernel'])) };
      case 'normalize':
        return { name: normalizeSysctl(String(c.in['name'])) };
      case 'namespace':
        return sysctlNamespace(String(c.in['pattern']));
      case 'allowlist':
        new SysctlAllowlist(patterns);
        return { ok: true };
      default: {
        const refusal = new SysctlAllowlist([...safeSysctls(ADMIT_KERNEL), ...patterns]).refusal(c.in['pod'] as Pod);
        return { admit: refusal === undefined, reason: refusal?.reason ?? '', message: refusal?.message ?? '' };
      }
    }
  });
