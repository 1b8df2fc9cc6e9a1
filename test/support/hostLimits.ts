/** A line of test/host-limits. */
export interface HostLimit {
  /** Part of the names of the tests that may be skipped. */
  test: string;
  reason: string;
  /** The twin in the simulated world or the virtual machine, or `not verified`. */
  coveredBy: string;
}

/** Reads test/host-limits. Throws on a line that lacks a part, since such a line would excuse too much. */
export function parseHostLimits(text: string): HostLimit[] {
  const limits: HostLimit[] = [];
  for (const [i, line] of text.split('\n').entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const [test, reason, coveredBy, ...more] = line.split('|').map((p) => p.trim());
    if (!test || !reason || !coveredBy || more.length > 0) throw new Error(`test/host-limits:${i + 1}: not "test | reason | covered by"`);
    limits.push({ test, reason, coveredBy });
  }
  return limits;
}

/** The skipped tests that no entry excuses. */
export function unexcused<T extends { name: string }>(skipped: readonly T[], limits: readonly HostLimit[]): T[] {
  return skipped.filter((s) => !limits.some((l) => s.name.includes(l.test)));
}
