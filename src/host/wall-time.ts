/** How far the two clocks may be apart before the fraction is taken anew: the wall clock was set, or the host slept. */
const maxDriftMs = 2;
let offset = performance.timeOrigin;

/** Wall-clock milliseconds with a fraction of a microsecond, which `Date` does not have. Never more than 2 ms off it. */
export function wallTimeMs(): number {
  const coarse = Date.now();
  const fine = offset + performance.now();
  if (Math.abs(fine - coarse) <= maxDriftMs) return fine;
  offset += coarse - fine;
  return coarse;
}
