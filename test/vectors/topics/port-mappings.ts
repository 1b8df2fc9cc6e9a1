import type { Container } from '../../../src/api/types.ts';
import { portMappings } from '../../../src/sync/port-mappings.ts';
import { type Checker, expectSame } from '../checker.ts';

/** Dropped ports are compared by the name in the real one's log line. */
const nameInLog = (line: unknown): unknown => JSON.parse(/portName=(".*")$/.exec(String(line))?.[1] ?? 'null');

export const check: Checker = (c) => {
  const out = (c.out ?? {}) as { logs?: unknown[] | null };
  const wanted = { ...c, out: { ...out, logs: (out.logs ?? []).map(nameInLog) } };
  return expectSame(wanted, () => {
    const { mappings, dropped } = portMappings(c.in['container'] as Container);
    return { mappings, logs: dropped };
  });
};
