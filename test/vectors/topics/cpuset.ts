import { CpuSet } from '../../../src/api/cpuset.ts';
import { type Checker, classOf, expectSame } from '../checker.ts';

export const check: Checker = (c) =>
  expectSame(c, () => {
    const read = (key: string) => CpuSet.parse(String(c.in[key]));
    if (classOf(c) === 'parse') {
      const set = read('text');
      return { list: [...set], size: set.size, string: set.toString() };
    }
    const [a, b] = [read('a'), read('b')];
    return {
      union: a.union(b).toString(),
      intersection: a.intersection(b).toString(),
      difference: a.difference(b).toString(),
      aSubsetOfB: a.isSubsetOf(b),
      equal: a.equals(b),
    };
  });
