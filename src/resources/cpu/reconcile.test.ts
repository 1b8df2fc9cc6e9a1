import assert from 'node:assert/strict';
import test from 'node:test';
import { SimClock } from '../../../test/sim/clock.ts';
import { CpuSet } from '../../api/cpuset.ts';
import { CriError } from '../../cri/errors.ts';
import { silentLogger } from '../../observe/log.ts';
import { CpuReconcile, type RunningContainer } from './reconcile.ts';

function world() {
  const clock = new SimClock();
  const updates: string[] = [];
  const running: RunningContainer[] = [
    { podUid: 'a', name: 'owner', id: 'id-1' },
    { podUid: 'b', name: 'shared', id: 'id-2' },
  ];
  const state = { shared: '0-3', fail: undefined as Error | undefined, collected: 0 };
  const service = new CpuReconcile({
    clock,
    log: silentLogger,
    periodMs: 10_000,
    running: () => running,
    collect: () => state.collected++,
    cpusOf: (_, name) => CpuSet.parse(name === 'owner' ? '4-5' : state.shared),
    runtime: {
      updateContainerResources: async (id, resources) => {
        if (state.fail !== undefined) throw state.fail;
        updates.push(`${id} ${JSON.stringify(resources)}`);
      },
    },
  });
  return { clock, updates, running, state, service };
}

test('every running container is moved once, again when its CPUs change, and at once when the pool does', async () => {
  const { clock, updates, running, state, service } = world();
  const stop = new AbortController();
  service.start(stop.signal);
  await clock.advance(1);
  assert.deepEqual(updates, ['id-1 {"cpusetCpus":"4-5"}', 'id-2 {"cpusetCpus":"0-3"}']);
  await clock.advance(30_000);
  assert.equal(updates.length, 2);
  assert.ok(state.collected >= 3);
  state.shared = '0-1';
  service.poke();
  await clock.advance(1);
  assert.deepEqual(updates.slice(2), ['id-2 {"cpusetCpus":"0-1"}']);
  running[1] = { podUid: 'b', name: 'shared', id: 'id-3' };
  await clock.advance(10_000);
  assert.deepEqual(updates.slice(3), ['id-3 {"cpusetCpus":"0-1"}']);
  stop.abort();
  await service.stop();
});

test('a container that cannot be moved is told of and tried again; one that is gone is not', async () => {
  const { updates, state, service } = world();
  const { signal } = new AbortController();
  state.fail = new Error('runtime is busy');
  await service.reconcile(signal);
  assert.deepEqual(service.health(), { ok: false, reason: 'container shared of pod b cannot be moved to the CPUs 0-3' });
  state.fail = new CriError('NotFound', 'UpdateContainerResources', 'no such container');
  await service.reconcile(signal);
  assert.deepEqual(service.health(), { ok: true });
  state.fail = undefined;
  await service.reconcile(signal);
  assert.equal(updates.length, 2);
});
