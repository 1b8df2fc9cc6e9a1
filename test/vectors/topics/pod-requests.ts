import { type PodResourcesOptions, podLimits, podRequests, toResourceList } from '../../../src/api/resources.ts';
import type { Pod } from '../../../src/api/types.ts';
import { type Checker, expectSame } from '../checker.ts';

export const check: Checker = (c) =>
  expectSame(c, () => {
    const pod = c.in['pod'] as Pod;
    const requests = (options: PodResourcesOptions) => toResourceList(podRequests(pod, options));
    return {
      requests: requests({}),
      limits: toResourceList(podLimits(pod)),
      requestsStatus: requests({ useStatus: true, podLevelResize: true }),
      requestsNoOverhead: requests({ excludeOverhead: true }),
      requestsSkipPodLevel: requests({ skipPodLevel: true }),
      limitsSkipPodLevel: toResourceList(podLimits(pod, { skipPodLevel: true })),
      requestsNonMissing: requests({ nonMissingRequests: { cpu: '100m', memory: '200Mi' } }),
    };
  });
