/** What one try of a probe gave. A rejected try is an error: no result at all (contract: pod-lifecycle.md §8). */
export interface ProbeOutcome {
  result: 'success' | 'warning' | 'failure';
  /** What users see of it in an event. */
  output: string;
}

/** Bytes of output or body that are kept. */
export const OUTPUT_LIMIT = 10 * 1024;
