import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { containersOf, guaranteedContainer, guaranteedPods, podOf } from '../../../test/support/managedPods.ts';
import { Quantity } from '../../api/quantity.ts';
import type { Pod } from '../../api/types.ts';
import type { NumaNode } from '../../host/numa.ts';
import { numaMask } from '../topology/numa-mask.ts';
import { readMemoryCheckpoint, writeMemoryCheckpoint } from './checkpoint.ts';
import { MemoryPolicyError, reservedByNode } from './reserved.ts';
import { emptyNodes, startMemoryState } from './start.ts';
import { emptyMemoryState, type MemoryState } from './state.ts';
import { allocateMemory, containerMemoryHints, releaseInitBefore, releaseMemory } from './static-policy.ts';

const GiB = 2 ** 30;
const machine: NumaNode[] = [0, 1].map((id) => ({
  id,
  memory: 8 * GiB,
  cores: [],
  hugepages: [{ pageSize: 2 ** 21, total: GiB }],
}));
const reserved = new Map([
  [0, new Map([['memory', GiB]])],
  [1, new Map<string, number>()],
]);
const anywhere = { affinity: undefined, preferred: false };
const start = () => startMemoryState(machine, reserved, emptyMemoryState);
const tables = (state: MemoryState) => [...state.nodes.values()].flatMap((node) => [...node.memory.values()]);

test('never is more given out than there is, sums stay true, and all comes back', () => {
  const pods = guaranteedPods(fc.constant('1'), fc.constantFrom('512Mi', '1Gi', '2Gi', '5Gi', '7Gi'));
  fc.assert(
    fc.property(pods, fc.array(fc.constantFrom(undefined, 1n, 2n, 3n), { minLength: 6, maxLength: 6 }), (all, hints) => {
      let state = start();
      const fresh = writeMemoryCheckpoint('Static', state);
      const live: Pod[] = [];
      for (const [i, pod] of all.entries()) {
        live.push(pod);
        try {
          for (const c of containersOf(pod)) state = allocateMemory(state, pod, c, { affinity: hints[i], preferred: false }).state;
        } catch (err) {
          assert.match(String(err), /\[memorymanager\]/);
        }
        for (const t of tables(state)) assert.ok(t.free >= 0 && t.reserved >= 0 && t.free + t.reserved === t.allocatable);
        // A restart in between reads the same state, and takes it: every sum is what the containers have.
        const { state: read } = readMemoryCheckpoint(writeMemoryCheckpoint('Static', state));
        assert.equal(writeMemoryCheckpoint('Static', startMemoryState(machine, reserved, read)), writeMemoryCheckpoint('Static', state));
        if (i % 2 === 1) {
          for (const c of containersOf(pod)) state = releaseInitBefore(state, pod, c);
          startMemoryState(machine, reserved, state);
        }
      }
      for (const pod of live) for (const c of containersOf(pod)) state = releaseMemory(state, pod.metadata.uid, c.name);
      assert.equal(writeMemoryCheckpoint('Static', state), fresh);
    }),
    { numRuns: 200 },
  );
});

test('a regular container uses the memory of the init containers before it again', () => {
  const pod = podOf('p', [guaranteedContainer('c', '1', '3Gi')], [guaranteedContainer('i', '1', '4Gi')]);
  let state = start();
  for (const c of containersOf(pod)) state = allocateMemory(state, pod, c, { affinity: 2n, preferred: true }).state;
  assert.equal(state.nodes.get(1)?.memory.get('memory')?.reserved, 4 * GiB);
  state = releaseInitBefore(state, pod, { name: 'c' });
  assert.equal(state.nodes.get(1)?.memory.get('memory')?.reserved, 3 * GiB);
});

test('a node that is used alone is not made part of a group, nor the other way round', () => {
  const small = podOf('s', [guaranteedContainer('c', '1', '1Gi')]);
  const large = podOf('l', [guaranteedContainer('c', '1', '10Gi')]);
  const [one] = [containersOf(small)[0], containersOf(large)[0]];
  assert.ok(one !== undefined);
  const alone = allocateMemory(start(), small, one, anywhere).state;
  assert.throws(() => allocateMemory(alone, large, guaranteedContainer('c', '1', '10Gi'), anywhere), /no NUMA nodes with enough memory/);
  const grouped = allocateMemory(start(), large, guaranteedContainer('c', '1', '10Gi'), anywhere).state;
  assert.deepEqual(containerMemoryHints(grouped, small, one)?.get('memory'), [{ affinity: numaMask([0, 1]), preferred: false }]);
});

test('huge pages are taken out of the memory of their node and given out beside it', () => {
  assert.equal(emptyNodes(machine, reserved).get(0)?.memory.get('memory')?.allocatable, 6 * GiB);
  const pod = podOf('p', [guaranteedContainer('c', '1', '1Gi', { 'hugepages-2Mi': '512Mi' })]);
  const state = allocateMemory(start(), pod, pod.spec.containers[0] ?? guaranteedContainer('c', '1'), anywhere).state;
  assert.equal(state.nodes.get(0)?.assignments, 2);
  assert.equal(state.nodes.get(0)?.memory.get('hugepages-2Mi')?.free, GiB / 2);
});

test('reservedMemory must name nodes of the machine and come to what node allocatable sets aside', () => {
  const total = new Map([['memory', Quantity.parse('1Gi')]]);
  const of = (...limits: [number, string][]) => limits.map(([numaNode, memory]) => ({ numaNode, limits: { memory } }));
  assert.deepEqual(reservedByNode(of([0, '512Mi'], [1, '512Mi']), [0, 1], total).get(1), new Map([['memory', GiB / 2]]));
  assert.throws(
    () => reservedByNode(of([0, '1Gi']), [0, 1], new Map([['memory', Quantity.parse('1100Mi')]])),
    /sets aside 1Gi of memory, but .* 1100Mi; make them equal/,
  );
  assert.throws(() => reservedByNode(of([3, '1Gi']), [0, 1], total), /names NUMA node 3; this machine has 0, 1/);
  assert.throws(() => reservedByNode([], [0], new Map()), MemoryPolicyError);
});

test('a state of another machine, or with other reservations, says what is different', () => {
  const state = start();
  assert.throws(() => startMemoryState(machine.slice(0, 1), reserved, state), /it has 2 NUMA nodes, the machine 1/);
  assert.throws(
    () => startMemoryState(machine, new Map([[0, new Map([['memory', 2 * GiB]])]]), state),
    /systemReserved of memory on NUMA node 0 is 1073741824, not 2147483648/,
  );
  const pod = podOf('p', [guaranteedContainer('c', '1')]);
  const given = allocateMemory(state, pod, guaranteedContainer('c', '1'), anywhere).state;
  assert.throws(
    () => startMemoryState(machine, reserved, { ...given, assignments: new Map() }),
    /NUMA node 0 has 1 assignments, 0 are listed/,
  );
});

/** Written by the real kubelet's state package, 1.37.2. */
const recorded = [
  '{"policyName":"None","machineState":{},"checksum":4236770233,"data":"{\\"policyName\\":\\"None\\",\\"machineState\\":{}}","dataChecksum":3093843326}',
  '{"policyName":"Static","machineState":{"0":{"numberOfAssignments":1,"memoryMap":{"hugepages-2Mi":{"total":0,"systemReserved":0,"allocatable":0,"reserved":0,"free":0},"memory":{"total":17179869184,"systemReserved":1073741824,"allocatable":16106127360,"reserved":1073741824,"free":15032385536}},"cells":[0]},"10":{"numberOfAssignments":0,"memoryMap":{},"cells":[10]},"2":{"numberOfAssignments":0,"memoryMap":{"memory":{"total":0,"systemReserved":0,"allocatable":0,"reserved":0,"free":0}},"cells":[2,3]}},"checksum":2707400479,"data":"{\\"policyName\\":\\"Static\\",\\"machineState\\":{\\"0\\":{\\"numberOfAssignments\\":1,\\"memoryMap\\":{\\"hugepages-2Mi\\":{\\"total\\":0,\\"systemReserved\\":0,\\"allocatable\\":0,\\"reserved\\":0,\\"free\\":0},\\"memory\\":{\\"total\\":17179869184,\\"systemReserved\\":1073741824,\\"allocatable\\":16106127360,\\"reserved\\":1073741824,\\"free\\":15032385536}},\\"cells\\":[0]},\\"10\\":{\\"numberOfAssignments\\":0,\\"memoryMap\\":{},\\"cells\\":[10]},\\"2\\":{\\"numberOfAssignments\\":0,\\"memoryMap\\":{\\"memory\\":{\\"total\\":0,\\"systemReserved\\":0,\\"allocatable\\":0,\\"reserved\\":0,\\"free\\":0}},\\"cells\\":[2,3]}}}","dataChecksum":2611943394}',
];

test('memory_manager_state is the real one to the byte, and older and damaged forms are told apart', () => {
  for (const text of recorded) {
    const { policyName, state } = readMemoryCheckpoint(text);
    assert.equal(writeMemoryCheckpoint(policyName, state), text);
    // The first version had no data.
    const { data: _, dataChecksum: __, ...first } = JSON.parse(text) as Record<string, unknown>;
    assert.deepEqual(readMemoryCheckpoint(JSON.stringify(first)), { policyName, state });
    assert.throws(() => readMemoryCheckpoint(JSON.stringify({ ...first, checksum: 5 })), /corrupted/);
    assert.throws(() => readMemoryCheckpoint(text.replace('"dataChecksum":', '"dataChecksum":1')), /corrupted/);
  }
  for (const foreign of ['', '[]', '{"entries":5}', '{"machineState":{"x":{}}}', '{"entries":{"u":{"c":[{"size":-1}]}}}']) {
    assert.throws(() => readMemoryCheckpoint(foreign), { code: 'checkpoint-content' }, foreign);
  }
});
