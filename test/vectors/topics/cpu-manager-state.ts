import { CpuSet } from '../../../src/api/cpuset.ts';
import { readCpuCheckpoint, writeCpuCheckpoint } from '../../../src/resources/cpu/checkpoint.ts';
import { type Checker, classOf, expectSame, plain } from '../checker.ts';

type Entries = Record<string, Record<string, string>>;

export const check: Checker = (c) =>
  expectSame(c, () => {
    const policy = String(c.in['policy']);
    if (classOf(c) === 'write') {
      const entries = (c.in['entries'] ?? {}) as Entries;
      const assignments = new Map(
        Object.entries(entries).map(([pod, own]) => [pod, new Map(Object.entries(own).map(([name, text]) => [name, CpuSet.parse(text)]))]),
      );
      return { file: writeCpuCheckpoint(policy, { defaultSet: CpuSet.parse(String(c.in['default'])), assignments }) };
    }
    const { policyName, state } = readCpuCheckpoint(String(c.in['file']));
    if (policyName !== policy) throw new Error(`the file is of the policy ${policyName}`);
    const entries = [...state.assignments].map(([pod, own]) => [
      pod,
      Object.fromEntries([...own].map(([name, cpus]) => [name, cpus.toString()])),
    ]);
    return plain({ default: state.defaultSet.toString(), entries: Object.fromEntries(entries) });
  });
