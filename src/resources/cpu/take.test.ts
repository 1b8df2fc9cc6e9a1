import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { topologyOf } from '../../../test/support/cpuTopology.ts';
import { machineOf, machineShapes, someOf } from '../../../test/support/machineShapes.ts';
import { CpuSet } from '../../api/cpuset.ts';
import { takeDistributed } from './take-distributed.ts';
import { NotEnoughCpusError, takePacked } from './take-packed.ts';

const strategies = fc.constantFrom('packed' as const, 'spread' as const);

test('exactly as many CPUs as were asked for, all of them available, or a refusal', () => {
  fc.assert(
    fc.property(
      machineShapes,
      fc.array(fc.nat(9), { minLength: 1, maxLength: 64 }),
      fc.nat(70),
      strategies,
      fc.boolean(),
      fc.boolean(),
      (shape, choice, count, strategy, preferUncore, alignBySocket) => {
        const topology = machineOf(shape);
        const available = CpuSet.of(someOf(topology.cpus, choice));
        for (const take of [
          () => takePacked(topology, available, count, { strategy, preferUncore }),
          () => takeDistributed(topology, available, count, { strategy, groupSize: 1, alignBySocket }),
          () => takeDistributed(topology, available, count, { strategy, groupSize: shape.threads, alignBySocket }),
        ]) {
          if (count > available.size) {
            assert.throws(take, NotEnoughCpusError);
            continue;
          }
          const taken = take();
          assert.equal(taken.size, count);
          assert.ok(taken.isSubsetOf(available), `${taken} of ${available}`);
        }
      },
    ),
    { numRuns: 300 },
  );
});

/** Two cores with two CPUs each (0-3) and four with one (4-7), as on a hybrid laptop. */
const hybrid = topologyOf([
  [0, 0],
  [1, 0],
  [2, 2],
  [3, 2],
  [4, 4],
  [5, 5],
  [6, 6],
  [7, 7],
]);

test('on a machine with unlike cores no CPU is taken that is in use', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(9), { minLength: 1, maxLength: 8 }), fc.nat(8), (choice, count) => {
      const available = CpuSet.of(someOf(hybrid.cpus, choice));
      if (count > available.size) return;
      const taken = takePacked(hybrid, available, count, { strategy: 'packed', preferUncore: false });
      assert.equal(taken.size, count);
      assert.ok(taken.isSubsetOf(available), `${taken} of ${available}`);
    }),
  );
});

test('a whole core is left whole while a broken one serves', () => {
  const topology = topologyOf([
    [0, 0],
    [1, 1],
    [2, 0],
    [3, 1],
  ]);
  assert.equal(takePacked(topology, CpuSet.parse('0,1,3'), 1, { strategy: 'packed', preferUncore: false }).toString(), '0');
  assert.equal(takePacked(topology, CpuSet.parse('0,1,3'), 2, { strategy: 'packed', preferUncore: false }).toString(), '1,3');
  assert.equal(takePacked(topology, CpuSet.parse('0-3'), 2, { strategy: 'spread', preferUncore: false }).toString(), '0-1');
});
