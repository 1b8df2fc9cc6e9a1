import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { topologyOf } from '../../../test/support/cpuTopology.ts';
import { machineOf, machineShapes } from '../../../test/support/machineShapes.ts';
import { containersOf, guaranteedContainer, guaranteedPods, podOf } from '../../../test/support/managedPods.ts';
import { CpuSet } from '../../api/cpuset.ts';
import { isSidecar } from '../../api/restart.ts';
import type { Container, Pod } from '../../api/types.ts';
import { type StaticPolicyOptions, staticPolicyOptions } from '../../config/cpu-policy-options.ts';
import { PolicyOptionError } from '../../config/policy-options.ts';
import { ResourceAdmissionError } from '../topology/hint.ts';
import { numaMask, numaNodes } from '../topology/numa-mask.ts';
import { readCpuCheckpoint, writeCpuCheckpoint } from './checkpoint.ts';
import { guaranteedCpus } from './guaranteed.ts';
import { type CpuState, emptyCpuState, exclusiveCpus } from './state.ts';
import {
  allocateCpus,
  containerCpuHints,
  createStaticPolicy,
  podCpuHints,
  releaseCpus,
  type StaticPolicy,
  StaticPolicyError,
  startState,
} from './static-policy.ts';
import { NotEnoughCpusError } from './take-packed.ts';

const none: StaticPolicyOptions = staticPolicyOptions({}, () => false);
const optionSets: fc.Arbitrary<StaticPolicyOptions> = fc.record({
  fullPhysicalCpusOnly: fc.boolean(),
  distributeAcrossNuma: fc.boolean(),
  alignBySocket: fc.constant(false),
  distributeAcrossCores: fc.boolean(),
  strictReservation: fc.boolean(),
  preferUncoreCache: fc.boolean(),
});
const policies = fc
  .tuple(machineShapes, optionSets)
  .map(([shape, options]) =>
    createStaticPolicy({ topology: machineOf(shape), options, reservedCount: 1, reservedCpus: CpuSet.empty, singleNumaNode: false }),
  );
const pods = guaranteedPods(fc.constantFrom('1', '2', '3', '4', '1500m'), fc.constant('1Gi'));

/** Everything that must hold at any time. */
function check(policy: StaticPolicy, state: CpuState, live: readonly Pod[]): void {
  const pool = policy.options.strictReservation ? policy.topology.cpus.difference(policy.reserved) : policy.topology.cpus;
  const owned = exclusiveCpus(state);
  assert.ok(state.defaultSet.equals(pool.difference(owned)), 'the shared pool is all but what is owned');
  assert.ok(owned.intersection(policy.reserved).isEmpty, 'no reserved CPU is owned');
  const seen = new Map<number, string>();
  for (const [uid, containers] of state.assignments) {
    const pod = live.find((p) => p.metadata.uid === uid);
    assert.ok(pod !== undefined, `${uid} is alive`);
    for (const [name, cpus] of containers) {
      const container: Container | undefined = containersOf(pod).find((c) => c.name === name);
      assert.equal(cpus.size, container && guaranteedCpus(pod, container));
      const passes = (pod.spec.initContainers ?? []).some((c) => c.name === name && !isSidecar(c));
      for (const cpu of cpus) {
        assert.ok(seen.get(cpu) === undefined || seen.get(cpu) === uid, `CPU ${cpu} has one pod`);
        seen.set(cpu, uid);
      }
      if (passes) continue;
      for (const [other, others] of containers) {
        const isLater = containersOf(pod).findIndex((c) => c.name === other) > containersOf(pod).findIndex((c) => c.name === name);
        if (isLater) assert.ok(cpus.intersection(others).isEmpty, `${other} shares no CPU with ${name}, which runs beside it`);
      }
    }
  }
}

test('no CPU has two owners, the shared pool is the rest, and all comes back', () => {
  fc.assert(
    fc.property(policies, pods, fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }), (policy, all, goes) => {
      let state = startState(policy, emptyCpuState);
      const fresh = state;
      const live: Pod[] = [];
      for (const [i, pod] of all.entries()) {
        live.push(pod);
        try {
          for (const container of containersOf(pod)) state = allocateCpus(policy, state, pod, container, undefined).state;
        } catch (err) {
          assert.ok(err instanceof NotEnoughCpusError || err instanceof ResourceAdmissionError, String(err));
        }
        check(policy, state, live);
        if (goes[i] !== true) continue;
        for (const container of containersOf(pod)) state = releaseCpus(state, pod.metadata.uid, container.name);
        live.splice(live.indexOf(pod), 1);
        check(policy, state, live);
      }
      // A restart in between reads the same state, and takes it.
      const { state: read } = readCpuCheckpoint(writeCpuCheckpoint('static', state));
      assert.equal(writeCpuCheckpoint('static', startState(policy, read)), writeCpuCheckpoint('static', state));
      for (const pod of live) for (const container of containersOf(pod)) state = releaseCpus(state, pod.metadata.uid, container.name);
      assert.equal(writeCpuCheckpoint('static', state), writeCpuCheckpoint('static', fresh));
    }),
    { numRuns: 200 },
  );
});

test('what a hint promises can be had there', () => {
  fc.assert(
    fc.property(policies, pods, (policy, all) => {
      let state = startState(policy, emptyCpuState);
      for (const pod of all) {
        for (const container of containersOf(pod)) {
          for (const { affinity = 0n } of containerCpuHints(policy, state, pod, container)?.get('cpu') ?? []) {
            if (policy.options.fullPhysicalCpusOnly) continue;
            const cpus = allocateCpus(policy, state, pod, container, affinity).cpus ?? CpuSet.empty;
            assert.ok(cpus.isSubsetOf(policy.topology.cpusInAny('numa', numaNodes(affinity))), `${cpus} on ${numaNodes(affinity)}`);
          }
          try {
            state = allocateCpus(policy, state, pod, container, undefined).state;
          } catch {
            break;
          }
        }
      }
    }),
    { numRuns: 100 },
  );
});

const twoSockets = topologyOf([0, 1, 2, 3, 4, 5, 6, 7].map((cpu) => [cpu, cpu % 4, Math.floor((cpu % 4) / 2), Math.floor((cpu % 4) / 2)]));
const policyOf = (over: Partial<StaticPolicyOptions> = {}, reservedCpus = '0') =>
  createStaticPolicy({
    topology: twoSockets,
    options: { ...none, ...over },
    reservedCount: CpuSet.parse(reservedCpus).size,
    reservedCpus: CpuSet.parse(reservedCpus),
    singleNumaNode: false,
  });

test('an affinity is followed as far as it reaches', () => {
  const policy = policyOf();
  const pod = podOf('p', [guaranteedContainer('c', '5')]);
  const { cpus } = allocateCpus(policy, startState(policy, emptyCpuState), pod, guaranteedContainer('c', '5'), numaMask([1]));
  assert.ok(CpuSet.parse('2-3,6-7').isSubsetOf(cpus ?? CpuSet.empty), `${cpus}`);
  assert.equal(cpus?.size, 5);
});

test('hints of a pod count its containers together', () => {
  const policy = policyOf();
  const pod = podOf('p', [guaranteedContainer('a', '2'), guaranteedContainer('b', '2')]);
  const hints = podCpuHints(policy, startState(policy, emptyCpuState), pod)?.get('cpu');
  assert.deepEqual(hints, [
    { affinity: 2n, preferred: true },
    { affinity: 3n, preferred: false },
  ]);
});

test('options that cannot be used are refused by name', () => {
  const gates = (on: string[]) => (gate: string) => on.includes(gate);
  assert.throws(() => staticPolicyOptions({ 'align-by-socket': 'true' }, gates([])), /set featureGates.CPUManagerPolicyAlphaOptions: true/);
  assert.throws(() => staticPolicyOptions({ 'distribute-cpus-across-numa': 'true' }, gates([])), /CPUManagerPolicyBetaOptions/);
  assert.throws(() => staticPolicyOptions({ other: 'true' }, gates([])), PolicyOptionError);
  const all = gates(['CPUManagerPolicyAlphaOptions', 'CPUManagerPolicyBetaOptions']);
  for (const pair of [
    ['full-pcpus-only', 'distribute-cpus-across-cores'],
    ['distribute-cpus-across-numa', 'distribute-cpus-across-cores'],
    ['prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-cores'],
    ['prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-numa'],
  ]) {
    assert.throws(
      () => staticPolicyOptions(Object.fromEntries(pair.map((name) => [name, 'true'])), all),
      /cannot be used at the same time/,
    );
  }
  assert.throws(
    () =>
      createStaticPolicy({ ...policyOf({ alignBySocket: true }), reservedCount: 1, reservedCpus: CpuSet.parse('0'), singleNumaNode: true }),
    /single-numa-node/,
  );
});

test('a state that does not fit the machine or the reservation says what does not', () => {
  const cases: [over: Partial<StaticPolicyOptions>, state: CpuState, says: RegExp][] = [
    [{}, { defaultSet: CpuSet.parse('1-7'), assignments: new Map() }, /reserved CPUs 0 are not all in the checkpoint's shared pool 1-7/],
    [{ strictReservation: true }, { defaultSet: CpuSet.parse('0-7'), assignments: new Map() }, /of the strictly reserved CPUs 0, .* has 0/],
    [{}, { defaultSet: CpuSet.parse('0-3'), assignments: new Map() }, /the machine has the CPUs 0-7, the checkpoint knows 0-3/],
    [
      {},
      { defaultSet: CpuSet.parse('0-7'), assignments: new Map([['u', new Map([['c', CpuSet.parse('1')]])]]) },
      /container c of pod u overlap/,
    ],
    [
      {},
      { defaultSet: CpuSet.empty, assignments: new Map([['u', new Map([['c', CpuSet.parse('1')]])]]) },
      /assignments but no shared pool/,
    ],
  ];
  for (const [over, state, says] of cases) {
    assert.throws(
      () => startState(policyOf(over), state),
      (err) => err instanceof StaticPolicyError && says.test(err.message),
    );
  }
});

test("a checkpoint whose pods' own CPUs cannot be read is told as damaged", () => {
  const text = JSON.stringify({ policyName: 'static', defaultCpuSet: '0-7', podEntries: { u: { cpuSet: '3-x' } }, checksum: 1 });
  assert.throws(() => readCpuCheckpoint(text), { code: 'checkpoint-content', message: /the CPUs of pod u/ });
});
