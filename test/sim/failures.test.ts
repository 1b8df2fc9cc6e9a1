import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../src/api/types.ts';
import { podLogsDir } from './agent.ts';
import { mutating } from './journal.ts';
import { simContainer } from './pods.ts';
import { Scene } from './scene.ts';

/** One failure at a time, and what becomes of pods in it: the deterministic twins of what the machine tests do for real. */

test('a pod starts, stops within its grace and leaves nothing behind', async () => {
  const s = await new Scene().boot();
  const uid = s.add('a', { term: 'ignore' }, { terminationGracePeriodSeconds: 7 });
  assert.ok((await s.ready(uid)) < 1_500);
  s.oracle.remove(uid);
  const took = await s.until('it is gone', () => s.world.runtime.machine.sandboxes.size === 0 && s.world.podsByUid().size === 0, 20_000);
  assert.ok(took >= 7_000 && took < 8_000, `gone after ${took} ms`);
  await s.converged();
});

test('the runtime is away for a minute: nothing restarts, and what was added meanwhile runs soon after', async () => {
  const s = await new Scene().boot();
  const first = s.add('a');
  await s.ready(first);
  const before = s.running();
  s.world.runtime.crash();
  const second = s.add('b');
  await s.world.clock.advance(60_000);
  const calls = s.world.runtime.journal.between(s.world.clock.monotonic() - 30_000, s.world.clock.monotonic());
  assert.ok(calls.length < 400, `${calls.length} calls in half a minute while it is away`);
  assert.equal(s.isReady(first), true);
  s.world.runtime.start();
  assert.ok((await s.ready(second)) < 3_000);
  assert.ok(before.every((id) => s.running().includes(id)));
  s.check();
});

test('the runtime is killed at any moment of RunPodSandbox: the pod runs, the half-made sandbox goes', async () => {
  for (let at = 5; at <= 205; at += 10) {
    const s = await new Scene({ seed: at }).boot();
    const uid = s.add('a');
    await s.world.clock.advance(at);
    s.world.runtime.restart(500);
    await s.ready(uid, 60_000);
    await s.until('one sandbox is left', () => s.world.runtime.machine.sandboxes.size === 1, 180_000);
    s.check();
  }
});

test('the agent is killed at any moment: no running container restarts, counts go on, the pod becomes ready', async () => {
  for (let at = 1; at <= 1_400; at += 23) {
    const s = await new Scene({ seed: at }).boot();
    const steady = s.add('a');
    const loops = s.add('b', { runMs: 200, exitCodes: [1] });
    await s.world.clock.advance(at);
    const before = [...s.world.runtime.machine.containers.values()].filter(
      (c) => c.state === 'running' && c.sandbox.config.metadata.uid === steady,
    );
    const ids = before.map((c) => c.id);
    s.world.agent?.kill();
    await s.world.clock.advance(at % 2 === 0 ? 5 : 700);
    await s.boot();
    await s.ready(steady, 60_000);
    assert.ok(
      ids.every((id) => s.running().includes(id)),
      `killed at ${at}: container restarted`,
    );
    await s.until('the other one has restarted', () => (s.status(loops)?.containerStatuses?.[0]?.restartCount ?? 0) >= 2, 60_000);
    s.check();
  }
});

test('a pod that was removed while the agent was away is stopped after its start', async () => {
  const s = await new Scene().boot();
  const uid = s.add('a', { term: 'ignore' });
  await s.ready(uid);
  s.world.agent?.kill();
  s.oracle.remove(uid);
  await s.world.clock.advance(10_000);
  await s.boot();
  await s.until('it is gone', () => s.world.runtime.machine.sandboxes.size === 0, 30_000);
  await s.converged();
});

test('an agent that starts while the runtime is away leaves the directories and cgroups of pods that may run alone', async () => {
  const s = await new Scene().boot();
  const uid = s.add('a');
  await s.ready(uid);
  s.world.agent?.kill();
  s.oracle.remove(uid);
  s.world.runtime.crash();
  await s.boot();
  await s.world.clock.advance(90_000);
  assert.ok(s.world.cgroups.has(uid));
  assert.ok(s.world.files.tree(`/var/lib/kubelet/pods/${uid}`).length > 0);
  s.world.runtime.start();
  await s.converged();
});

test('nothing is stopped before every source has spoken', async () => {
  const s = await new Scene().boot();
  const uid = s.add('a');
  await s.ready(uid);
  s.world.agent?.kill();
  s.world.source.hold();
  await s.boot();
  await s.world.clock.advance(120_000);
  assert.equal(s.running().length, 1);
  s.world.source.release();
  await s.ready(uid);
  assert.equal(s.starts(uid).length, 1);
  s.check();
});

test('a log directory that is read-only or full keeps a pod from starting, with a reason, until it is mended', async () => {
  for (const how of ['readOnly', 'full'] as const) {
    const s = await new Scene().boot();
    const running = s.add('a');
    await s.ready(running);
    const mend = s.world.files[how](podLogsDir);
    const uid = s.add('b');
    await s.world.clock.advance(60_000);
    assert.equal(s.isReady(uid), false);
    assert.equal(s.isReady(running), true);
    const code = how === 'full' ? 'ENOSPC' : 'EROFS';
    assert.ok(
      s.world.events.some((e) => e.uid === uid && e.type === 'Warning' && e.message.includes(code)),
      JSON.stringify(s.world.events.filter((e) => e.uid === uid)),
    );
    mend();
    await s.ready(uid, 20_000);
    s.check();
  }
});

test('an image that does not exist is asked for less and less often, and found once it is there', async () => {
  const s = await new Scene().boot();
  const uid = s.add('a', {}, { containers: [simContainer('main', {}, { image: 'sim.local/later:1' })] });
  s.world.runtime.registry.set('sim.local/later:1', { fails: 'absent', pullMs: 100 });
  const seen = new Set<string>();
  for (let i = 0; i < 1_800; i++) {
    await s.world.clock.advance(1_000);
    const reason = s.waiting(uid);
    if (reason !== undefined) seen.add(reason);
  }
  assert.deepEqual([...seen].filter((r) => r !== 'ContainerCreating').sort(), ['ErrImagePull', 'ImagePullBackOff']);
  const pulls = s.world.runtime.journal.of('PullImage', uid).length;
  assert.ok(pulls >= 8 && pulls <= 12, `${pulls} pulls in half an hour`);
  s.world.runtime.registry.set('sim.local/later:1', { pullMs: 100 });
  await s.ready(uid, 310_000);
  s.check();
});

test('a command that does not exist: the error is shown, tries come at 0, 0, 10, 20, 40 s and so on', async () => {
  const s = await new Scene().boot();
  const uid = s.add('a', { startError: 'exec: "/nope": stat /nope: no such file or directory' });
  await s.world.clock.advance(400_000);
  const tries = s.world.runtime.journal.of('StartContainer', uid).map((c) => c.start);
  const gaps = tries.slice(1).map((t, i) => Math.round((t - (tries[i] ?? 0)) / 1000));
  assert.deepEqual(gaps.slice(1, 5), [10, 20, 40, 80]);
  assert.ok((gaps[0] ?? 99) <= 2);
  const status = s.status(uid)?.containerStatuses?.[0];
  assert.ok(['RunContainerError', 'CrashLoopBackOff'].includes(status?.state?.waiting?.reason ?? ''), JSON.stringify(status));
  assert.match(JSON.stringify(status), /nope/);
  s.check();
});

test('containers that exit at once: with 0, with 1, by a signal, under each restart policy', async () => {
  const cases: [Pod['spec']['restartPolicy'], number, string, number][] = [
    ['Always', 0, 'Running', 5],
    ['Always', 1, 'Running', 5],
    ['OnFailure', 0, 'Succeeded', 1],
    ['OnFailure', 1, 'Running', 5],
    ['OnFailure', 137, 'Running', 5],
    ['Never', 0, 'Succeeded', 1],
    ['Never', 1, 'Failed', 1],
    ['Never', 137, 'Failed', 1],
  ];
  for (const [restartPolicy, exit, phase, starts] of cases) {
    const s = await new Scene().boot();
    const uid = s.add('a', { runMs: 1, exitCodes: [exit] }, { restartPolicy: restartPolicy ?? 'Always' });
    await s.world.clock.advance(85_000);
    const about = `${restartPolicy} with ${exit}`;
    assert.equal(s.status(uid)?.phase, phase, about);
    assert.equal(s.starts(uid).length, starts, about);
    if (starts > 1) {
      assert.equal(s.waiting(uid), 'CrashLoopBackOff', about);
      assert.equal(s.status(uid)?.containerStatuses?.[0]?.restartCount, starts - 1, about);
    }
    s.check();
  }
});

test('one call that hangs holds up its own pod only, and its deadline frees it', async () => {
  const s = await new Scene().boot();
  s.world.runtime.faults.add({ op: 'RunPodSandbox', times: 1, effect: { kind: 'hang' } });
  const stuck = s.add('a');
  await s.world.clock.advance(10);
  const others = ['b', 'c', 'd'].map((name) => s.add(name));
  for (const uid of others) await s.ready(uid, 5_000);
  assert.equal(s.isReady(stuck), false);
  await s.ready(stuck, 240_000 + 30_000);
  s.check();
});

test('a list that hangs makes the health report fail in three minutes while lanes go on by their own reads', async () => {
  const s = await new Scene().boot();
  const first = s.add('a', { runMs: 100_000, exitCodes: [1] });
  await s.ready(first);
  s.world.runtime.faults.add({ op: 'ListContainers', match: (call) => call.podUid === undefined, effect: { kind: 'hang' } });
  const second = s.add('b');
  await s.ready(second, 5_000);
  assert.deepEqual(s.world.agent?.kubelet.relist.health(), { ok: true });
  await s.until('the health report fails', () => s.world.agent?.kubelet.relist.health().ok === false, 200_000);
  await s.until('the container that ended meanwhile is restarted', () => s.starts(first).length > 1, 120_000);
  s.world.runtime.faults.clear();
  s.world.runtime.wire.releaseHung();
  await s.until('the health report recovers', () => s.world.agent?.kubelet.relist.health().ok === true, 5_000);
  s.check();
});

test('twenty pods at rest for an hour: two lists a second at most, nothing that changes a pod, in little real time', async () => {
  const s = await new Scene().boot();
  const uids = Array.from({ length: 20 }, (_, i) => s.add(`p${i}`));
  for (const uid of uids) await s.ready(uid, 60_000);
  await s.world.clock.advance(60_000);
  const from = s.world.clock.monotonic();
  const began = process.hrtime.bigint();
  await s.world.clock.advance(3_600_000);
  const seconds = Number(process.hrtime.bigint() - began) / 1e9;
  const calls = s.world.runtime.journal.between(from, s.world.clock.monotonic());
  assert.deepEqual(
    calls.filter((c) => mutating.has(c.op)),
    [],
  );
  const perMinute = calls.length / 60;
  // Two lists a second, Status every five seconds, and one look of four calls at each pod a minute.
  assert.ok(perMinute < 120 + 12 + 20 * 4 + 20, `${perMinute} calls a minute`);
  assert.ok(seconds < 30, `an hour took ${seconds} s`);
  s.check();
});

test('with an event stream a quiet node is listed less often, and an end is still seen at once', async () => {
  const s = await new Scene({ events: true }).boot();
  const uid = s.add('a', { runMs: 200_000, exitCodes: [1] });
  await s.ready(uid);
  await s.world.clock.advance(60_000);
  const from = s.world.clock.monotonic();
  await s.world.clock.advance(60_000);
  const lists = s.world.runtime.journal
    .between(from, from + 60_000)
    .filter((c) => c.op === 'ListContainers' && c.podUid === undefined).length;
  assert.ok(lists <= 20, `${lists} lists in a quiet minute`);
  await s.until('it is started again', () => s.starts(uid).length === 2, 120_000);
  const ended = s.world.runtime.journal.happenings.find((h) => h.kind === 'container-exited')?.at ?? 0;
  assert.ok((s.starts(uid)[1] ?? 0) - ended < 500);
  s.check();
});

test('a pod that comes again with the same UID while it stops is stopped whole, then begins anew', async () => {
  const s = await new Scene().boot();
  const uid = s.add('a', { term: 3_000 });
  await s.ready(uid);
  s.oracle.remove(uid);
  await s.world.clock.advance(1_000);
  s.add('a', { term: 3_000 });
  await s.until('it runs again', () => s.starts(uid).length === 2, 30_000);
  const exited = s.world.runtime.journal.happenings.find((h) => h.kind === 'container-exited')?.at ?? 0;
  assert.ok((s.starts(uid)[1] ?? 0) > exited);
  await s.ready(uid);
  assert.equal(s.status(uid)?.containerStatuses?.[0]?.restartCount, 1, 'its count goes on, as the contract has it');
  await s.converged();
});
