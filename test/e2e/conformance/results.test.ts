import assert from 'node:assert/strict';
import test from 'node:test';
import { readReport } from './results.ts';
import type { SuiteProgress } from './settings.ts';
import { specProgress } from './specProgress.ts';

const it = (name: string, State: string, Message?: string) => ({
  LeafNodeType: 'It',
  ContainerHierarchyTexts: ['[sig-node]', '', 'Pods'],
  LeafNodeText: name,
  State,
  RunTime: 1_500_000_000,
  ...(Message === undefined ? {} : { Failure: { Message } }),
});

test('a report tells the specs that ran, not those that the focus left out', () => {
  const { specs, setupFaults } = readReport(
    JSON.stringify([
      {
        SpecReports: [
          { LeafNodeType: 'SynchronizedBeforeSuite', State: 'passed' },
          it('a', 'passed'),
          it('b', 'timedout', 'too long'),
          it('c', 'skipped', 'not on cgroup v1'),
          it('d', 'skipped'),
          it('e', 'pending'),
        ],
      },
      { SpecReports: null },
    ]),
  );
  assert.deepEqual(
    specs.map((s) => [s.name, s.state, s.seconds, s.message]),
    [
      ['[sig-node] Pods a', 'passed', 1.5, ''],
      ['[sig-node] Pods b', 'failed', 1.5, 'too long'],
      ['[sig-node] Pods c', 'skipped', 1.5, 'not on cgroup v1'],
    ],
  );
  assert.deepEqual(setupFaults, []);
});

test('a suite that could not be set up is a fault', () => {
  const { setupFaults } = readReport(
    JSON.stringify([{ SpecReports: [{ LeafNodeType: 'SynchronizedBeforeSuite', State: 'failed', Failure: { Message: 'no node' } }] }]),
  );
  assert.deepEqual(setupFaults, ['SynchronizedBeforeSuite: no node']);
});

test('progress is read from output that comes in pieces', () => {
  const told: SuiteProgress[] = [];
  const read = specProgress((p) => told.push(p));
  const text = '• [2.1 seconds]\n---\nSSSS\n• [FAILED] [3.0 seconds]\n  [sig-node] x fails\nmore\nS [SKIPPED] [0.1 seconds]\n';
  for (const char of text) read(char);
  assert.deepEqual(told, [
    { done: 1, failed: 0 },
    { done: 2, failed: 1, failure: '[sig-node] x fails' },
    { done: 3, failed: 1 },
  ]);
});
