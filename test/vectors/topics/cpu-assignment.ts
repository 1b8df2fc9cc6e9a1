import { CpuSet } from '../../../src/api/cpuset.ts';
import type { SortingStrategy } from '../../../src/resources/cpu/accumulator.ts';
import { takeDistributed } from '../../../src/resources/cpu/take-distributed.ts';
import { takePacked } from '../../../src/resources/cpu/take-packed.ts';
import { topologyOf } from '../../support/cpuTopology.ts';
import { type Checker, classOf, expectSame } from '../checker.ts';

export const check: Checker = (c) =>
  expectSame(c, () => {
    const topology = topologyOf(c.in['cpus'] as number[][]);
    const available = CpuSet.parse(String(c.in['available']));
    const count = Number(c.in['count']);
    const strategy = (c.in['strategy'] ?? 'packed') as SortingStrategy;
    if (classOf(c).startsWith('packed')) {
      return { cpus: takePacked(topology, available, count, { strategy, preferUncore: c.in['preferUncore'] === true }).toString() };
    }
    const options = { strategy, groupSize: Number(c.in['groupSize']), alignBySocket: c.in['alignBySocket'] === true };
    return { cpus: takeDistributed(topology, available, count, options).toString() };
  });
