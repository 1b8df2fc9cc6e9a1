import {
  type CgroupDriver,
  CgroupNameError,
  cgroupName,
  isSystemdStyleName,
  nodeAllocatableRoot,
  parseCgroupfs,
  parseSystemd,
  podCgroupSuffix,
  toCgroupfs,
  toSystemd,
} from '../../../src/resources/cgroup-names.ts';
import { type Checker, classOf, expectSame } from '../checker.ts';

/** Our refusal stands for the real one's panic, whose text is not compared. */
function systemd(name: readonly string[], want: unknown): Record<string, unknown> {
  try {
    const path = toSystemd(name);
    return { systemd: path, fromSystemd: parseSystemd(path) };
  } catch (error) {
    if (error instanceof CgroupNameError) return { systemdPanic: typeof want === 'string' ? want : error.message };
    throw error;
  }
}

export const check: Checker = (c) =>
  expectSame(c, () => {
    const text = String(c.in['text']);
    switch (classOf(c)) {
      case 'parse-systemd':
        return { name: parseSystemd(text), isSystemdStyle: isSystemdStyleName(text) };
      case 'parse-cgroupfs':
        return { name: parseCgroupfs(text) };
      case 'pod-suffix':
        return { suffix: podCgroupSuffix(String(c.in['uid'])) };
      case 'node-root':
        return { root: nodeAllocatableRoot(String(c.in['cgroupRoot']), c.in['cgroupsPerQOS'] === true, c.in['driver'] as CgroupDriver) };
      default: {
        const list = (key: string): string[] => (c.in[key] ?? []) as string[];
        const name = cgroupName(list('base'), ...list('components'));
        const cgroupfs = toCgroupfs(name);
        const want = (c.out as Record<string, unknown> | undefined)?.['systemdPanic'];
        return { name, cgroupfs, fromCgroupfs: parseCgroupfs(cgroupfs), ...systemd(name, want) };
      }
    }
  });
