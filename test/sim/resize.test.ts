import assert from 'node:assert/strict';
import { test } from 'node:test';
import { insufficientResources } from '../../src/admission/resource-fit.ts';
import { rootDir } from './agent.ts';
import { apiPod, simContainer } from './pods.ts';
import { Scene } from './scene.ts';
import { SimSource } from './source.ts';

/** In-place resize while the runtime, the disk and the agent fail; the node has two CPUs. */
class ResizeScene extends Scene {
  constructor(seed: number) {
    super({
      seed,
      source: new SimSource('api'),
      admit: (pod, others) => {
        const [lack] = insufficientResources(pod, others, { cpu: '2', memory: '4Gi', pods: '110' });
        return lack === undefined ? undefined : { reason: `OutOf${lack.resource}`, message: `no ${lack.resource} left` };
      },
    });
    this.world.runtime.registry.set('sim.local/busybox:1', { pullMs: 10 });
  }

  /** A pod of one container with this much CPU; `restart`: it starts anew for another size. */
  put(name: string, milli: number, generation: number, restart = false): string {
    const policy = restart ? { resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }] } : {};
    const resources = { requests: { cpu: `${milli}m` }, limits: { cpu: `${milli}m` } };
    const pod = apiPod(name, `uid-${name}`, { containers: [simContainer('main', {}, { resources, ...policy })] });
    pod.metadata.generation = generation;
    // The API server has what the agent last said.
    const said = this.world.podsByUid().get(pod.metadata.uid)?.status;
    if (said !== undefined) pod.status = structuredClone(said);
    this.oracle.put(pod);
    return pod.metadata.uid;
  }

  conditions(uid: string): string[] {
    const found = (this.status(uid)?.conditions ?? []).filter((c) => c.type.startsWith('PodResize'));
    return found.map((c) => [c.type, c.reason, c.observedGeneration].filter((part) => part !== undefined).join(' '));
  }

  /** Thousandths of a CPU by the runtime's own word. */
  milli(uid: string): number | undefined {
    const running = [...this.world.runtime.machine.containers.values()].filter(
      (c) => c.state === 'running' && c.sandbox.config.metadata.uid === uid,
    );
    const [container] = running;
    assert.ok(running.length <= 1);
    return container && (container.resources?.cpuQuota ?? 0) / 100;
  }

  reasons(uid: string): string[] {
    return this.world.events.filter((e) => e.uid === uid && e.reason.startsWith('Resize')).map((e) => e.reason);
  }

  /** In force, shown so, and nothing pending. */
  resized(uid: string, milli: number, maxMs?: number): Promise<number> {
    return this.until(
      `${uid} has ${milli}m`,
      () =>
        this.milli(uid) === milli &&
        this.conditions(uid).length === 0 &&
        this.status(uid)?.containerStatuses?.[0]?.allocatedResources?.['cpu'] === `${milli}m`,
      maxMs,
    );
  }
}

test('a resize comes into force without a restart, and is told', async () => {
  const s = await new ResizeScene(1).boot();
  const uid = s.put('a', 200, 1);
  await s.resized(uid, 200);
  s.put('a', 500, 2);
  await s.resized(uid, 500, 2_000);
  assert.deepEqual([s.starts(uid).length, s.reasons(uid)], [1, ['ResizeStarted', 'ResizeCompleted']]);
  assert.equal(s.status(uid)?.observedGeneration, 2);
  s.check();
});

test('a container that must restart for its size does so once, and keeps its pod', async () => {
  const s = await new ResizeScene(2).boot();
  const uid = s.put('a', 200, 1, true);
  await s.resized(uid, 200);
  s.put('a', 500, 2, true);
  await s.resized(uid, 500);
  assert.equal(s.starts(uid).length, 2);
  assert.equal(s.status(uid)?.containerStatuses?.[0]?.restartCount, 1);
  await s.world.clock.advance(200_000);
  assert.equal(s.starts(uid).length, 2);
  s.check();
});

test('what does not fit waits, and is done when another pod goes, or asks for less', async () => {
  const s = await new ResizeScene(3).boot();
  const [a, b] = [s.put('a', 1000, 1), s.put('b', 800, 1)];
  await s.resized(a, 1000);
  await s.resized(b, 800);
  s.put('b', 1500, 2);
  await s.until('b waits', () => s.conditions(b).join() === 'PodResizePending Deferred 2');
  assert.equal(s.milli(b), 800);
  s.put('a', 400, 2);
  await s.resized(a, 400);
  await s.resized(b, 1500);
  s.put('a', 1000, 3);
  await s.until('a waits', () => s.conditions(a).length === 1);
  s.oracle.remove(b);
  await s.resized(a, 1000, 60_000);
  assert.deepEqual(s.reasons(b), ['ResizeDeferred', 'ResizeStarted', 'ResizeCompleted']);
  s.check();
});

test('the runtime refuses to update: the condition says so, nothing restarts, and it is done once it does not', async () => {
  const s = await new ResizeScene(4).boot();
  const uid = s.put('a', 200, 1);
  await s.resized(uid, 200);
  const mend = s.world.runtime.faults.add({
    op: 'UpdateContainerResources',
    effect: { kind: 'error', code: 'Unknown', message: 'no such luck' },
  });
  s.put('a', 500, 2);
  await s.until('the fault shows', () => s.conditions(uid).join() === 'PodResizeInProgress Error 2');
  await s.world.clock.advance(40_000);
  const tries = s.world.runtime.journal.between(0, s.world.clock.monotonic()).filter((c) => c.op === 'UpdateContainerResources').length;
  assert.ok(tries >= 3 && tries <= 8, `${tries} tries in 40 s`);
  assert.equal(s.status(uid)?.containerStatuses?.[0]?.resources?.limits?.['cpu'], '200m');
  mend();
  await s.resized(uid, 500);
  assert.deepEqual(s.reasons(uid), ['ResizeStarted', 'ResizeError', 'ResizeCompleted']);
  assert.equal(s.starts(uid).length, 1);
  s.check();
});

test('an update whose answer is lost is done again, to the same end', async () => {
  const s = await new ResizeScene(5).boot();
  const uid = s.put('a', 200, 1);
  await s.resized(uid, 200);
  s.world.runtime.faults.add({
    op: 'UpdateContainerResources',
    times: 1,
    effect: { kind: 'error', code: 'Unavailable', message: 'connection lost', when: 'after' },
  });
  s.put('a', 500, 2);
  await s.resized(uid, 500);
  assert.equal(s.starts(uid).length, 1);
  s.check();
});

for (const restart of [false, true]) {
  test(`the agent is killed at any moment of a resize${restart ? ' that restarts the container' : ''}: it is completed, with one restart at most`, async () => {
    for (let at = 0; at <= 330; at += 11) {
      const s = await new ResizeScene(100 + at).boot();
      const uid = s.put('a', 200, 1, restart);
      await s.resized(uid, 200);
      s.put('a', 500, 2, restart);
      await s.world.clock.advance(at);
      s.world.agent?.kill();
      await s.world.clock.advance(5);
      await s.boot();
      await s.resized(uid, 500, 120_000);
      await s.world.clock.advance(100_000);
      assert.ok(s.starts(uid).length <= (restart ? 2 : 1), `killed at ${at}: ${s.starts(uid).length} starts`);
      s.check();
    }
  });
}

test('after a restart of the agent a pod keeps what it was allocated: a spec that changed meanwhile is a resize', async () => {
  const s = await new ResizeScene(6).boot();
  const [a, b] = [s.put('a', 1000, 1), s.put('b', 900, 1)];
  await s.resized(a, 1000);
  await s.resized(b, 900);
  s.world.agent?.kill();
  s.put('a', 1900, 2);
  await s.boot();
  await s.until('a waits', () => s.conditions(a).join() === 'PodResizePending Deferred 2', 60_000);
  assert.deepEqual([s.milli(a), s.milli(b), s.starts(a).length, s.starts(b).length], [1000, 900, 1, 1]);
  s.oracle.remove(b);
  await s.resized(a, 1900, 60_000);
  s.check();
});

test('a disk that refuses keeps a resize from coming into force, with a reason, until it is mended', async () => {
  const s = await new ResizeScene(7).boot();
  const uid = s.put('a', 200, 1);
  await s.resized(uid, 200);
  await s.world.clock.advance(2_000);
  const mend = s.world.files.readOnly(rootDir);
  s.oracle.diskFault = true;
  s.put('a', 500, 2);
  await s.until('the fault shows', () => s.conditions(uid).join() === 'PodResizeInProgress Error 2');
  assert.equal(s.milli(uid), 200);
  mend();
  await s.resized(uid, 500);
  assert.equal(s.starts(uid).length, 1);
});

test('a damaged record of allocations is refused with the remedy; nothing that runs is touched', async () => {
  const s = await new ResizeScene(8).boot();
  const uid = s.put('a', 200, 1);
  await s.resized(uid, 200);
  await s.world.clock.advance(2_000);
  s.world.agent?.kill();
  await s.world.files.write(`${rootDir}/allocated_pods_state`, '{"data":"{}","checksum":1}', 0o600);
  await assert.rejects(s.boot(), /please drain this node and delete pod resource information checkpoint file/);
  assert.equal(s.milli(uid), 200);
  assert.equal(s.starts(uid).length, 1);
});
