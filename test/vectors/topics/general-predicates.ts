import { generalPredicates } from '../../../src/admission/general-predicates.ts';
import type { Taint } from '../../../src/admission/tolerations.ts';
import type { Pod, ResourceList } from '../../../src/api/types.ts';
import { type Checker, expectSame } from '../checker.ts';

interface VectorNode {
  metadata: { name: string; labels?: Record<string, string> };
  spec?: { taints?: Taint[] };
  status?: { allocatable?: ResourceList; features?: { supplementalGroupsPolicy?: boolean } };
}

export const check: Checker = (c) =>
  expectSame(c, () => {
    const { metadata, spec, status } = c.in['node'] as VectorNode;
    const [first] = generalPredicates(c.in['pod'] as Pod, (c.in['otherPods'] ?? []) as Pod[], {
      name: metadata.name,
      labels: metadata.labels ?? {},
      taints: spec?.taints ?? [],
      allocatable: status?.allocatable ?? {},
      supportsStrictGroups: status?.features?.supplementalGroupsPolicy === true,
    });
    return { admit: first === undefined, reason: first?.reason ?? '', message: first?.message ?? '' };
  });
