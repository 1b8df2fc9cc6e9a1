/** Edits that turn `a` into `b`: insertions, deletions, replacements and swaps of neighbours; stops counting past `limit`. */
function distance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let best = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) best = Math.min(best, (before[j - 2] ?? 0) + 1);
      row.push(best);
    }
    before = last;
    last = row;
  }
  return last[b.length] ?? limit + 1;
}

/** The known name that is closest to a misspelt one; undefined when none is close. Case counts little. */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  if (name.length > 100) return undefined;
  const wanted = name.toLowerCase();
  let limit = Math.max(2, Math.floor(name.length / 4));
  let found: string | undefined;
  for (const candidate of known) {
    const d = distance(wanted, candidate.toLowerCase(), limit);
    if (d < limit || (d === limit && found === undefined)) {
      limit = d;
      found = candidate;
    }
  }
  return found;
}
