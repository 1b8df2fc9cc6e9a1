import assert from 'node:assert/strict';
import test from 'node:test';
import type { Summary } from '../stats/summary-types.ts';
import { NodePressures } from './node-pressures.ts';
import { observationsOf, podUsages } from './summary.ts';

const time = '2030-01-01T00:00:05.000Z';
const fs = { time, availableBytes: 40, capacityBytes: 100, inodesFree: 4, inodes: 10 };
const summary: Summary = {
  node: {
    nodeName: 'n',
    startTime: time,
    memory: { time, availableBytes: 700, workingSetBytes: 300 },
    systemContainers: [
      { name: 'kubelet', startTime: time, memory: { time, availableBytes: 1, workingSetBytes: 1 } },
      { name: 'pods', startTime: time, memory: { time, availableBytes: 20, workingSetBytes: 80 } },
    ],
    fs,
    runtime: { imageFs: { ...fs, availableBytes: 41 }, containerFs: { ...fs, availableBytes: 42 } },
    rlimit: { time, maxpid: 1000, curproc: 400 },
  },
  pods: [{ podRef: { name: 'p', namespace: 'ns', uid: 'u' }, startTime: time, containers: [] }],
};

test('every signal is found in the summary', () => {
  const found = [...observationsOf(summary)].map(
    ([signal, { available, capacity }]) => `${signal} ${available.value()} of ${capacity.value()}`,
  );
  assert.deepEqual(found, [
    'memory.available 700 of 1000',
    'allocatableMemory.available 20 of 100',
    'nodefs.available 40 of 100',
    'nodefs.inodesFree 4 of 10',
    'imagefs.available 41 of 100',
    'imagefs.inodesFree 4 of 10',
    'containerfs.available 42 of 100',
    'containerfs.inodesFree 4 of 10',
    'pid.available 600 of 1000',
  ]);
  assert.deepEqual(new Set([...observationsOf(summary).values()].map(({ atMs }) => atMs)), new Set([Date.parse(time)]));
});

test('what is missing is left out', () => {
  assert.deepEqual([...observationsOf({ node: { nodeName: 'n', startTime: time, memory: { time } }, pods: [] })], []);
  assert.deepEqual([...podUsages(summary).keys()], ['u']);
});

test('the pressures stand in one order, whatever order they came in', () => {
  const pressures = new NodePressures();
  pressures.set(new Set(['PIDPressure', 'MemoryPressure'] as const));
  assert.deepEqual(pressures.list(), ['MemoryPressure', 'PIDPressure']);
  assert.deepEqual(pressures.flags(), { MemoryPressure: true, DiskPressure: false, PIDPressure: true });
});
