import { topologyPolicyOptions } from '../../../src/config/topology-policy-options.ts';
import type { ProviderHints, TopologyHint } from '../../../src/resources/topology/hint.ts';
import { mergeHints, type TopologyPolicy } from '../../../src/resources/topology/merge.ts';
import { numaMask, numaNodes } from '../../../src/resources/topology/numa-mask.ts';
import { type Checker, classOf, expectSame } from '../checker.ts';

interface RecordedHint {
  numa: number[] | null;
  preferred: boolean;
}

const readHint = ({ numa, preferred }: RecordedHint): TopologyHint => ({ affinity: numa === null ? undefined : numaMask(numa), preferred });

export const check: Checker = (c) =>
  expectSame(c, () => {
    if (classOf(c) === 'options') {
      const options = topologyPolicyOptions(c.in['options'] as Record<string, string>);
      return { preferClosest: options.preferClosest, maxAllowableNUMANodes: options.maxAllowableNumaNodes };
    }
    const providers = (c.in['providers'] as (Record<string, RecordedHint[] | null> | null)[]).map((hints): ProviderHints | undefined =>
      hints === null ? undefined : new Map(Object.entries(hints).map(([resource, list]) => [resource, list?.map(readHint)])),
    );
    const count = Number(c.in['numaNodes']);
    const distances = c.in['distances'] as number[][] | undefined;
    const info = {
      nodes: Array.from({ length: count }, (_, node) => node),
      preferClosest: c.in['preferClosest'] === true,
      ...(distances === undefined || distances === null ? {} : { distances: new Map(distances.entries()) }),
    };
    const { hint, admit } = mergeHints(c.in['policy'] as TopologyPolicy, info, providers);
    return { admit, hint: { numa: hint.affinity === undefined ? null : numaNodes(hint.affinity), preferred: hint.preferred } };
  });
