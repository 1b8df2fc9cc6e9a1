import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rootDir } from './agent.ts';
import { apiPod, simContainer } from './pods.ts';
import { Scene } from './scene.ts';
import { SimSource } from './source.ts';

/** When a pod is looked at again, and in which order it is made. */

const callsOf = (s: Scene, op: string, uid?: string) =>
  s.world.runtime.journal.calls.filter((c) => c.op === op && (uid === undefined || c.podUid === uid));
const eventsOf = (s: Scene, uid: string) => s.world.events.filter((e) => e.uid === uid).map((e) => e.reason);

test('without a network only pods of the host network start; the others are tried again every second or so', async () => {
  const s = await new Scene().boot();
  s.world.runtime.networkReady = false;
  await s.world.clock.advance(10_000);
  const uid = s.add('a');
  const host = s.add('b', {}, { hostNetwork: true });
  await s.ready(host);
  await s.world.clock.advance(10_000);
  assert.equal(s.isReady(uid), false);
  const told = s.world.events.filter((e) => e.uid === uid && e.reason === 'NetworkNotReady');
  assert.ok(told.length >= 5 && told.length <= 12, `${told.length} times in ten seconds`);
  s.world.runtime.networkReady = true;
  const took = await s.ready(uid);
  assert.ok(took < 8_000, `${took} ms after the network came`);
  s.check();
});

test('a pod at rest is looked at again after a minute to a minute and a half', async () => {
  const s = await new Scene().boot();
  const uid = s.add('a');
  await s.ready(uid);
  await s.world.clock.advance(5_000);
  const from = s.world.clock.monotonic();
  await s.world.clock.advance(400_000);
  const looks = callsOf(s, 'ListContainers', uid)
    .filter((c) => c.start > from)
    .map((c) => c.start);
  const gaps = looks.slice(1).map((t, i) => t - (looks[i] ?? 0));
  assert.ok(looks.length >= 4, `${looks.length} looks`);
  assert.ok(
    gaps.every((g) => g >= 60_000 && g <= 90_500),
    gaps.join(', '),
  );
});

test('a sandbox that could not be made is told, and tried again after 10 to 15 seconds', async () => {
  const s = await new Scene().boot();
  await s.world.clock.advance(10_000);
  s.world.runtime.faults.add({ op: 'RunPodSandbox', times: 1, effect: { kind: 'error', code: 'Unknown', message: 'no network for you' } });
  const uid = s.add('a');
  await s.ready(uid);
  const [first, second] = callsOf(s, 'RunPodSandbox', uid).map((c) => c.start);
  const gap = (second ?? 0) - (first ?? 0);
  assert.ok(gap >= 10_000 && gap <= 15_500, `${gap} ms`);
  const told = s.world.events.find((e) => e.uid === uid && e.reason === 'FailedCreatePodSandBox');
  assert.match(told?.message ?? '', /^Failed to create pod sandbox: .*no network for you/);
  s.check();
});

test('a pod that is taken away while its sandbox is made has no event about the failure', async () => {
  const s = await new Scene().boot();
  s.world.runtime.faults.add({ op: 'RunPodSandbox', effect: { kind: 'hang' } });
  const uid = s.add('a');
  await s.world.clock.advance(2_000);
  s.oracle.remove(uid);
  await s.until('it is gone', () => s.world.podsByUid().size === 0, 30_000);
  assert.equal(eventsOf(s, uid).includes('FailedCreatePodSandBox'), false);
});

test('a pod that has ended before the agent ever saw it runs nothing here', async () => {
  const source = new SimSource('api');
  const s = await new Scene({ source }).boot();
  const pod = apiPod('a', 'uid-a', { containers: [simContainer('main')] });
  source.put({ ...pod, status: { phase: 'Failed' } });
  await s.world.clock.advance(30_000);
  assert.deepEqual(callsOf(s, 'RunPodSandbox'), []);
  assert.equal(s.status('uid-a')?.phase, 'Failed');
});

test('a pod is made in order: its group and folders, the sandbox, each container; and it is told', async () => {
  const s = await new Scene().boot();
  let prepared: boolean | undefined;
  s.world.runtime.faults.add({
    op: 'CreateContainer',
    match: () => {
      prepared ??= s.world.cgroups.has('uid-a') && s.world.files.tree(`${rootDir}/pods`).includes(`${rootDir}/pods/uid-a/`);
      return false;
    },
    effect: { kind: 'slow', ms: 1 },
  });
  const uid = s.add('a');
  await s.ready(uid);
  assert.equal(prepared, true);
  const order = s.world.runtime.journal.calls.filter((c) => c.podUid === uid && /^(Run|Create|Start)/.test(c.op)).map((c) => c.op);
  assert.deepEqual(order, ['RunPodSandbox', 'CreateContainer', 'StartContainer']);
  assert.deepEqual(
    eventsOf(s, uid).filter((r) => r !== 'MissingClusterDNS'),
    ['Pulling', 'Pulled', 'Created', 'Started'],
  );
});
