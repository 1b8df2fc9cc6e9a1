import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { instance, planOf, pod, sandbox, seen, typesOf } from '../../test/support/plan-fixtures.ts';
import type { Container } from '../api/types.ts';
import type { ObservedContainer } from '../pleg/types.ts';

const restartsAll = (name: string): Container => ({
  name,
  image: 'i',
  restartPolicy: 'Never',
  restartPolicyRules: [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }],
});
const plain = (name: string): Container => ({ name, image: 'i' });
const spec = pod({
  restartPolicy: 'Never',
  initContainers: [plain('init'), restartsAll('init-source')],
  containers: [plain('main'), restartsAll('source')],
});
const step = (containers: ObservedContainer[]) => planOf(spec, seen([sandbox()], containers), { restartingAll: true });

describe('plan: RestartAllContainers', () => {
  it('removes all instances, group by group, those that asked for it last, then begins with the first init container', () => {
    let left = [
      instance('source', 'exited', { exitCode: 42 }),
      instance('main', 'running'),
      instance('source', 'exited'),
      instance('init-source', 'exited', { exitCode: 42 }),
      instance('init', 'exited'),
    ];
    const stages: string[][] = [];
    while (left.length > 0) {
      const { actions } = step(left);
      stages.push(typesOf({ actions, waits: [] }));
      assert.ok(actions.length > 0 && actions.every((a) => a.type === 'ResetContainer'));
      const removed = new Set(actions.map((a) => ('id' in a ? a.id : '')));
      left = left.filter((c) => !removed.has(c.id));
    }
    assert.deepEqual(stages, [
      ['ResetContainer main'],
      ['ResetContainer init'],
      ['ResetContainer source', 'ResetContainer source'],
      ['ResetContainer init-source'],
    ]);
    assert.deepEqual(typesOf(step([])), ['StartContainer init']);
  });

  it('stops what runs, and only that', () => {
    const stops = (state: ObservedContainer['state']) => step([instance('main', state)]).actions.map((a) => 'stop' in a && a.stop);
    assert.deepEqual([stops('running'), stops('unknown'), stops('exited'), stops('created')], [[true], [true], [false], [false]]);
  });

  it('removes each instance once and ends, whatever there is', () => {
    const one = fc.record({
      name: fc.constantFrom('main', 'source', 'init', 'init-source'),
      state: fc.constantFrom('running' as const, 'exited' as const, 'created' as const, 'unknown' as const),
      exitCode: fc.constantFrom(0, 1, 42),
    });
    fc.assert(
      fc.property(fc.array(one, { maxLength: 8 }), (list) => {
        let left = list.map((c) => instance(c.name, c.state, c));
        for (let stage = 0; left.length > 0; stage++) {
          assert.ok(stage < 4, 'no more than four groups');
          const ids = step(left).actions.flatMap((a) => (a.type === 'ResetContainer' ? [a.id] : []));
          assert.ok(ids.length > 0);
          left = left.filter((c) => !ids.includes(c.id));
        }
      }),
    );
  });
});

describe('plan: old instances of init containers', () => {
  it('go when another one starts, the newest of each name stays', () => {
    const p = pod({ initContainers: [plain('a'), plain('b')] });
    const a = [
      instance('a', 'exited', { exitCode: 1 }),
      instance('a', 'exited', { exitCode: 1 }),
      instance('a', 'exited', { exitCode: 1 }),
    ];
    const { actions } = planOf(p, seen([sandbox()], a));
    assert.deepEqual(
      actions.map((x) => [x.type, 'id' in x ? x.id : '']),
      [
        ['StartContainer', ''],
        ['RemoveContainer', a[1]?.id],
        ['RemoveContainer', a[2]?.id],
      ],
    );
  });

  it('stay while nothing starts', () => {
    const p = pod({ initContainers: [plain('a')] });
    const a = [instance('a', 'exited', { exitCode: 1 }), instance('a', 'exited', { exitCode: 1 })];
    assert.deepEqual(planOf(p, seen([sandbox()], a), { backOff: () => ({ remainingMs: 5, delayMs: 10 }) }).actions, []);
  });
});
