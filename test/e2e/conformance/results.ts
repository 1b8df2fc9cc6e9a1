/** How one spec ended. */
export interface SpecResult {
  name: string;
  state: 'passed' | 'failed' | 'skipped';
  seconds: number;
  /** First lines of what failed, or why it was skipped. */
  message: string;
}

interface GinkgoSpec {
  LeafNodeType?: string;
  ContainerHierarchyTexts?: string[] | null;
  LeafNodeText?: string;
  State?: string;
  RunTime?: number;
  Failure?: { Message?: string };
}

const SETUP = new Set(['BeforeSuite', 'SynchronizedBeforeSuite', 'AfterSuite', 'SynchronizedAfterSuite']);

/**
 * Reads ginkgo's JSON report: the specs that ran (those that the focus left out are not among them), and the nodes around
 * the suite that failed, which make all results worthless. A skip of the spec's own has a message; a filtered one has none.
 */
export function readReport(text: string): { specs: SpecResult[]; setupFaults: string[] } {
  const specs: SpecResult[] = [];
  const setupFaults: string[] = [];
  const suites = JSON.parse(text) as { SpecReports?: GinkgoSpec[] | null }[];
  for (const spec of suites.flatMap((s) => s.SpecReports ?? [])) {
    const message = spec.Failure?.Message ?? '';
    const ok = spec.State === 'passed';
    if (SETUP.has(spec.LeafNodeType ?? '') && !ok && spec.State !== 'skipped') setupFaults.push(`${spec.LeafNodeType}: ${message}`);
    if (spec.LeafNodeType !== 'It' || spec.State === 'pending' || (spec.State === 'skipped' && message === '')) continue;
    specs.push({
      // A container without a text leaves no gap.
      name: [...(spec.ContainerHierarchyTexts ?? []), spec.LeafNodeText ?? '']
        .filter((part) => part !== '')
        .join(' ')
        .trim(),
      state: ok ? 'passed' : spec.State === 'skipped' ? 'skipped' : 'failed',
      seconds: (spec.RunTime ?? 0) / 1e9,
      message: message.split('\n').slice(0, 12).join('\n').slice(0, 2_000),
    });
  }
  return { specs, setupFaults };
}
