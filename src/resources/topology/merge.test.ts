import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import type { ProviderHints, TopologyHint } from './hint.ts';
import { mergeHints, type TopologyPolicy } from './merge.ts';
import { countNodes, isNarrower, type NumaMask, numaMask } from './numa-mask.ts';

const NODES = [0, 1, 2, 3];
const everywhere = numaMask(NODES);
const info = { nodes: NODES, preferClosest: false };

const hint: fc.Arbitrary<TopologyHint> = fc.record({
  affinity: fc.option(fc.integer({ min: 1, max: 15 }).map(BigInt), { nil: undefined, freq: 12 }),
  preferred: fc.boolean(),
});
const provider: fc.Arbitrary<ProviderHints> = fc
  .array(fc.option(fc.array(hint, { maxLength: 5 }), { nil: undefined, freq: 9 }), { minLength: 1, maxLength: 2 })
  .map((lists) => new Map(lists.map((list, i) => [`r${i}`, list])));

/** All combinations one by one, and of these the one that beats every other. */
function naive(providers: readonly ProviderHints[]): { affinity: NumaMask; preferred: boolean } {
  const lists = providers.flatMap((p) => [...p.values()]).map((list) => list ?? [{ affinity: undefined, preferred: true }]);
  const open = lists.map((list) => (list.length === 0 ? [{ affinity: undefined, preferred: false }] : list));
  let all: TopologyHint[][] = [[]];
  for (const list of open) all = all.flatMap((chosen) => list.map((h) => [...chosen, h]));
  const merged = all
    .map((chosen) => {
      const named = chosen.flatMap((h) => (h.affinity === undefined ? [] : [h.affinity]));
      return {
        affinity: named.reduce((a, b) => a & b, everywhere),
        preferred: chosen.every((h) => h.preferred) && named.every((mask) => mask === named[0]),
      };
    })
    .filter((m) => m.affinity !== 0n);
  const narrowest = open.map((list) => Math.min(...list.map((h) => (h.affinity === undefined ? 99 : countNodes(h.affinity)))));
  const width = Math.max(0, ...narrowest.filter((n) => n !== 99));
  const order = (m: { affinity: NumaMask; preferred: boolean }) => {
    const count = countNodes(m.affinity);
    return m.preferred ? 0 : count <= width ? 1 + width - count : 100 + count;
  };
  const first = merged.sort((a, b) => order(a) - order(b) || (isNarrower(a.affinity, b.affinity) ? -1 : 1))[0];
  return first ?? { affinity: everywhere, preferred: false };
}

test('following equal combinations once gives what all combinations give', () => {
  fc.assert(
    fc.property(fc.array(provider, { minLength: 1, maxLength: 3 }), (providers) => {
      assert.deepEqual(mergeHints('best-effort', info, providers).hint, naive(providers));
    }),
    { numRuns: 400 },
  );
});

test('single-numa-node admits with one node or none in particular, restricted with a preferred hint only', () => {
  fc.assert(
    fc.property(fc.array(provider, { minLength: 1, maxLength: 3 }), (providers) => {
      const single = mergeHints('single-numa-node', info, providers);
      if (single.admit && single.hint.affinity !== undefined) assert.equal(countNodes(single.hint.affinity), 1);
      const restricted = mergeHints('restricted', info, providers);
      assert.equal(restricted.admit, restricted.hint.preferred);
      for (const policy of ['none', 'best-effort'] as TopologyPolicy[]) assert.equal(mergeHints(policy, info, providers).admit, true);
    }),
  );
});

test('eight NUMA nodes and three resources that can lie anywhere are merged at once', () => {
  const hints: TopologyHint[] = Array.from({ length: 255 }, (_, i) => ({
    affinity: BigInt(i + 1),
    preferred: countNodes(BigInt(i + 1)) === 1,
  }));
  const one: ProviderHints = new Map([['r', hints]]);
  const eight = { nodes: [0, 1, 2, 3, 4, 5, 6, 7], preferClosest: false };
  assert.deepEqual(mergeHints('restricted', eight, [one, one, one]), { hint: { affinity: 1n, preferred: true }, admit: true });
});
