import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gateDependencies, gateSpecs } from './feature-gate-table.ts';
import { defaultGates, evaluateGates } from './feature-gates.ts';

const rules = (wanted: Record<string, boolean>): string[] => evaluateGates(wanted).faults.map((f) => `${f.gate} ${f.rule}`);

test('defaults, and what is set', () => {
  assert.equal(defaultGates.enabled('NodeSwap'), true);
  assert.equal(defaultGates.enabled('EventedPLEG'), false);
  assert.equal(defaultGates.enabled('NoSuchGate'), false);
  const { gates, faults } = evaluateGates({ EventedPLEG: true, MemoryQoS: false });
  assert.deepEqual(faults, []);
  assert.equal(gates.enabled('EventedPLEG'), true);
  assert.equal(gates.enabled('MemoryQoS'), false);
  assert.deepEqual(
    [...gates.changed()],
    [
      ['EventedPLEG', true],
      ['MemoryQoS', false],
    ],
  );
});

test('unknown and locked gates', () => {
  assert.deepEqual(rules({ NodeSwapp: true, NodeSwap: false }), [
    'NodeSwapp is not a feature gate',
    'NodeSwap cannot be set to false: it is locked to true',
  ]);
  assert.equal(evaluateGates({ NodeSwapp: true }).faults[0]?.remedy, 'did you mean NodeSwap?');
  assert.deepEqual(rules({ NodeSwap: true }), []);
});

test('a gate needs those that it depends on', () => {
  assert.deepEqual(rules({ GracefulNodeShutdown: false }), [
    'GracefulNodeShutdownBasedOnPodPriority is on, but depends on GracefulNodeShutdown, which is off',
    'WindowsGracefulNodeShutdown is on, but depends on GracefulNodeShutdown, which is off',
  ]);
  const off = { GracefulNodeShutdown: false, GracefulNodeShutdownBasedOnPodPriority: false, WindowsGracefulNodeShutdown: false };
  assert.deepEqual(rules(off), []);
});

test('AllAlpha and AllBeta set what is not named', () => {
  assert.equal(rules({ AllAlpha: true }).length, 4);
  const { gates, faults } = evaluateGates({ AllAlpha: true, GenericWorkload: true, EventedPLEG: false });
  assert.deepEqual(faults, []);
  assert.equal(gates.enabled('QOSReserved'), true);
  assert.equal(gates.enabled('EventedPLEG'), false);
  assert.equal(evaluateGates({ AllBeta: true }).gates.enabled('PodLevelResourceManagers'), true);
});

test('gates that go away are told', () => {
  assert.deepEqual(evaluateGates({ CustomCPUCFSQuotaPeriod: true, AllowDNSOnlyNodeCSR: true }).fading, [
    { gate: 'CustomCPUCFSQuotaPeriod', stage: 'GA' },
    { gate: 'AllowDNSOnlyNodeCSR', stage: 'Deprecated' },
  ]);
});

test('the table is whole', () => {
  for (const [gate, needs] of gateDependencies) {
    for (const name of [gate, ...needs]) assert.ok(gateSpecs.has(name), name);
  }
  assert.deepEqual(evaluateGates({}).faults, []);
  for (const [gate, spec] of gateSpecs) assert.ok(spec.stage !== 'Alpha' || !spec.default, `${gate}: an alpha gate is off`);
});
