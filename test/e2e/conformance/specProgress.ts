import type { SuiteProgress } from './settings.ts';

/**
 * Reads ginkgo's verbose output in chunks and counts the specs that have ended: their lines begin with a bullet, as in
 * `• [2.1 seconds]`, `• [FAILED] [31.0 seconds]`; the line after the latter is the name.
 */
export function specProgress(tell: (progress: SuiteProgress) => void): (chunk: string) => void {
  let rest = '';
  let done = 0;
  let failed = 0;
  let failing = false;
  return (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (failing) {
        failing = false;
        tell({ done, failed, failure: line.trim() });
      }
      if (/^• \[(FAILED|PANICKED|TIMEDOUT|INTERRUPTED)\]/.test(line)) {
        failing = true;
        failed += 1;
        done += 1;
      } else if (/^(•|S) \[/.test(line)) {
        done += 1;
        tell({ done, failed });
      }
    }
  };
}
