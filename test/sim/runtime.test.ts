import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CriError, type CriErrorCode } from '../../src/cri/errors.ts';
import type { ContainerConfig, PodSandboxConfig } from '../../src/cri/types.ts';
import { type Behaviour, simCommand } from './behaviour.ts';
import { SimClock } from './clock.ts';
import { SimProcess } from './process.ts';
import { SimRandom } from './random.ts';
import { SimRuntime } from './runtime.ts';
import type { SimRuntimeOptions } from './runtime-base.ts';

const code = (want: CriErrorCode, text?: RegExp) => (err: unknown) =>
  err instanceof CriError && err.code === want && (text?.test(err.message) ?? true);

const sandboxConfig = (uid: string, attempt = 0): PodSandboxConfig => ({
  metadata: { name: `pod-${uid}`, uid, namespace: 'default', attempt },
  portMappings: [],
  labels: { 'io.kubernetes.pod.uid': uid },
  annotations: {},
});

const containerConfig = (name: string, behaviour: Behaviour = {}, attempt = 0): ContainerConfig => ({
  metadata: { name, attempt },
  image: { image: 'busybox' },
  command: simCommand(behaviour),
  args: [],
  envs: [],
  mounts: [],
  devices: [],
  labels: {},
  annotations: {},
});

class Bench {
  readonly clock = new SimClock();
  readonly runtime: SimRuntime;

  constructor(options: Partial<SimRuntimeOptions> = {}, seed = 1) {
    this.runtime = new SimRuntime({ clock: this.clock, random: new SimRandom(seed), ...options });
    this.runtime.registry.add('busybox');
  }

  /** Lets time pass until the promise settles. */
  async of<T>(promise: Promise<T>, maxMs = 600_000): Promise<T> {
    let settled = false;
    promise.then(
      () => (settled = true),
      () => (settled = true),
    );
    assert.ok(await this.clock.runUntil(() => settled, maxMs), 'the call never ends');
    return promise;
  }

  async pod(uid: string, behaviour: Behaviour = {}): Promise<{ sandbox: string; container: string }> {
    const config = sandboxConfig(uid);
    const sandbox = await this.of(this.runtime.runPodSandbox(config, ''));
    const container = await this.of(this.runtime.createContainer(sandbox, containerConfig('main', behaviour), config));
    await this.of(this.runtime.startContainer(container));
    return { sandbox, container };
  }
}

test('a pod is made, runs, is stopped within its grace and removed', async () => {
  const b = new Bench();
  const { sandbox, container } = await b.pod('u1', { term: 700 });
  const status = await b.of(b.runtime.podSandboxStatus(sandbox));
  assert.equal(status.state, 'ready');
  assert.match(status.network?.ip ?? '', /^10\.88\./);
  assert.equal((await b.of(b.runtime.containerStatus(container))).state, 'running');

  const before = b.clock.monotonic();
  await b.of(b.runtime.stopContainer(container, 30));
  assert.ok(b.clock.monotonic() - before >= 700);
  assert.ok(b.clock.monotonic() - before < 800);
  const ended = await b.of(b.runtime.containerStatus(container));
  assert.deepEqual([ended.state, ended.exitCode, ended.reason], ['exited', 143, 'Error']);

  await b.of(b.runtime.stopPodSandbox(sandbox));
  await b.of(b.runtime.stopPodSandbox(sandbox));
  const stopped = await b.of(b.runtime.podSandboxStatus(sandbox));
  assert.deepEqual([stopped.state, stopped.network?.ip], ['notready', '']);
  await b.of(b.runtime.removePodSandbox(sandbox));
  await b.of(b.runtime.removePodSandbox(sandbox));
  await assert.rejects(b.of(b.runtime.podSandboxStatus(sandbox)), code('NotFound'));
  await assert.rejects(b.of(b.runtime.containerStatus(container)), code('NotFound'));
  assert.equal(b.runtime.machine.names.size, 0);
  assert.deepEqual(b.runtime.journal.violations, []);
});

test('SIGKILL comes after the whole grace and not before', async () => {
  const b = new Bench();
  const { container } = await b.pod('u1', { term: 'ignore' });
  await b.of(b.runtime.stopContainer(container, 10));
  const signals = b.runtime.journal.happenings.filter((h) => h.kind === 'signal');
  assert.deepEqual(
    signals.map((h) => h.detail),
    ['SIGTERM', 'SIGKILL'],
  );
  const [term, kill] = signals.map((h) => h.at);
  assert.ok(kill !== undefined && term !== undefined && kill - term === 10_000);
  assert.equal((await b.of(b.runtime.containerStatus(container))).exitCode, 137);
});

test('the stop signal is sent once, and a cancelled stop leaves the container running', async () => {
  const b = new Bench();
  const { container } = await b.pod('u1', { term: 'ignore' });
  const abort = new AbortController();
  const first = b.runtime.stopContainer(container, 600, { signal: abort.signal });
  b.clock.after(5000, () => abort.abort());
  await assert.rejects(b.of(first), code('Canceled'));
  assert.equal((await b.of(b.runtime.containerStatus(container))).state, 'running');
  await b.of(b.runtime.stopContainer(container, 2));
  assert.equal(b.runtime.journal.happenings.filter((h) => h.detail === 'SIGTERM').length, 1);
  assert.deepEqual(b.runtime.journal.violations, []);
});

test('names are unique while they are held', async () => {
  const b = new Bench();
  const config = sandboxConfig('u1');
  const first = b.runtime.runPodSandbox(config, '');
  await assert.rejects(b.of(b.runtime.runPodSandbox(config, '')), code('Unknown', /is reserved for/));
  const sandbox = await b.of(first);
  await assert.rejects(b.of(b.runtime.runPodSandbox(config, '')), code('Unknown', /is reserved for/));
  await b.of(b.runtime.createContainer(sandbox, containerConfig('main'), config));
  await assert.rejects(b.of(b.runtime.createContainer(sandbox, containerConfig('main'), config)), code('Unknown', /is reserved for/));
  await b.of(b.runtime.createContainer(sandbox, containerConfig('main', {}, 1), config));
  assert.ok(b.runtime.journal.violations.some((v) => v.includes('RunPodSandbox')));
});

test('a call that is cancelled frees its name a little later', async () => {
  const b = new Bench();
  const config = sandboxConfig('u1');
  await assert.rejects(b.of(b.runtime.runPodSandbox(config, '', { timeoutMs: 20 })), code('DeadlineExceeded'));
  assert.equal(b.runtime.machine.names.size, 1);
  await b.clock.advance(100);
  assert.equal(b.runtime.machine.names.size, 0);
  await b.of(b.runtime.runPodSandbox(config, ''));
});

test('containers exit by themselves, by attempt', async () => {
  const b = new Bench();
  const config = sandboxConfig('u1');
  const sandbox = await b.of(b.runtime.runPodSandbox(config, ''));
  const seen: number[] = [];
  for (let attempt = 0; attempt < 3; attempt++) {
    const id = await b.of(b.runtime.createContainer(sandbox, containerConfig('main', { runMs: 500, exitCodes: [3, 0] }, attempt), config));
    await b.of(b.runtime.startContainer(id));
    await b.clock.advance(501);
    const status = await b.of(b.runtime.containerStatus(id));
    assert.equal(status.state, 'exited');
    seen.push(status.exitCode);
  }
  assert.deepEqual(seen, [3, 0, 0]);
});

test("failures to create and to start look like the runtime's own", async () => {
  const b = new Bench();
  const config = sandboxConfig('u1');
  const sandbox = await b.of(b.runtime.runPodSandbox(config, ''));
  await assert.rejects(
    b.of(b.runtime.createContainer(sandbox, containerConfig('c', { createError: 'no' }), config)),
    code('Unknown', /no/),
  );
  const id = await b.of(b.runtime.createContainer(sandbox, containerConfig('s', { startError: 'exec: "nope": not found' }), config));
  await assert.rejects(b.of(b.runtime.startContainer(id)), code('Unknown', /OCI runtime create failed/));
  const status = await b.of(b.runtime.containerStatus(id));
  assert.deepEqual([status.state, status.exitCode, status.reason], ['exited', 128, 'StartError']);
  await assert.rejects(b.of(b.runtime.startContainer(id)), code('Unknown', /CONTAINER_EXITED/));
  const absent = { ...containerConfig('i'), image: { image: 'absent' } };
  await assert.rejects(b.of(b.runtime.createContainer(sandbox, absent, config)), code('NotFound'));
});

test('nothing starts in a stopped sandbox, and the attempt is noted', async () => {
  const b = new Bench();
  const config = sandboxConfig('u1');
  const sandbox = await b.of(b.runtime.runPodSandbox(config, ''));
  const id = await b.of(b.runtime.createContainer(sandbox, containerConfig('main'), config));
  await b.of(b.runtime.stopPodSandbox(sandbox));
  await assert.rejects(b.of(b.runtime.startContainer(id)), code('Unknown', /is not running/));
  await assert.rejects(b.of(b.runtime.createContainer(sandbox, containerConfig('other'), config)), code('NotFound'));
  assert.equal(b.runtime.journal.violations.length, 2);
});

test('images are pulled, missing ones are not, flaky ones recover', async () => {
  const b = new Bench();
  b.runtime.registry.set('flaky:1', { failures: 2, pullMs: 10 });
  const images = b.runtime.images;
  assert.equal(await b.of(images.imageStatus({ image: 'app:1' })), undefined);
  const ref = await b.of(images.pullImage({ image: 'app:1' }, undefined, undefined));
  assert.equal((await b.of(images.imageStatus({ image: 'docker.io/library/app:1' })))?.id, ref);
  assert.equal((await b.of(images.imageStatus({ image: ref })))?.id, ref);
  await assert.rejects(b.of(images.pullImage({ image: 'registry.local/missing:1' }, undefined, undefined)), code('NotFound'));
  await assert.rejects(b.of(images.pullImage({ image: 'flaky:1' }, undefined, undefined)), code('Unknown'));
  await assert.rejects(b.of(images.pullImage({ image: 'flaky:1' }, undefined, undefined)), code('Unknown'));
  await b.of(images.pullImage({ image: 'flaky:1' }, undefined, undefined));
  await b.of(images.removeImage({ image: ref }));
  await b.of(images.removeImage({ image: ref }));
  assert.equal((await b.of(images.listImages())).length, 2);
});

test('while the runtime is down calls find nobody, and its containers run on', async () => {
  const b = new Bench();
  const { container } = await b.pod('u1', { runMs: 30_000, exitCodes: [4], term: 'ignore' });
  const hanging = b.runtime.stopContainer(container, 600);
  b.clock.after(1000, () => b.runtime.restart(60_000));
  await assert.rejects(b.of(hanging), code('Unavailable'));
  await assert.rejects(b.of(b.runtime.listContainers()), code('Unavailable'));
  await b.clock.advance(61_000);
  const [c] = await b.of(b.runtime.listContainers());
  assert.equal(c?.state, 'exited');
});

test('the death of the runtime in RunPodSandbox sometimes leaves a half-made sandbox', async () => {
  let left = 0;
  for (let seed = 1; seed <= 20; seed++) {
    const b = new Bench({}, seed);
    const making = b.runtime.runPodSandbox(sandboxConfig('u1'), '');
    b.clock.after(30, () => b.runtime.restart(100));
    await assert.rejects(b.of(making), code('Unavailable'));
    await b.clock.advance(200);
    const list = await b.of(b.runtime.listPodSandbox());
    left += list.length;
    for (const s of list) assert.equal(s.state, 'notready');
    await b.of(b.runtime.runPodSandbox(sandboxConfig('u1', list.length), ''));
    assert.deepEqual(b.runtime.journal.violations, []);
  }
  assert.ok(left > 4 && left < 20, `${left} of 20`);
});

test('faults: an error, a lost answer, a hang until the deadline, slowness', async () => {
  const b = new Bench();
  const config = sandboxConfig('u1');
  const faults = b.runtime.faults;
  faults.add({ op: 'RunPodSandbox', times: 1, effect: { kind: 'error', code: 'Internal', message: 'boom' } });
  await assert.rejects(b.of(b.runtime.runPodSandbox(config, '')), code('Internal', /boom/));
  assert.equal(b.runtime.machine.sandboxes.size, 0);
  faults.add({ op: 'RunPodSandbox', times: 1, effect: { kind: 'error', code: 'Unavailable', message: 'lost', when: 'after' } });
  await assert.rejects(b.of(b.runtime.runPodSandbox(config, '')), code('Unavailable', /lost/));
  assert.equal(b.runtime.machine.sandboxes.size, 1);
  const hang = faults.add({ op: 'ListContainers', effect: { kind: 'hang' } });
  const from = b.clock.monotonic();
  await assert.rejects(b.of(b.runtime.listContainers()), code('DeadlineExceeded'));
  assert.equal(b.clock.monotonic() - from, 120_000);
  hang();
  faults.add({ op: 'ListContainers', match: () => true, effect: { kind: 'slow', ms: 5000 } });
  const slow = b.clock.monotonic();
  await b.of(b.runtime.listContainers());
  assert.ok(b.clock.monotonic() - slow >= 5000);
});

test('lists filter by id, state, sandbox and labels', async () => {
  const b = new Bench();
  const one = await b.pod('u1');
  const two = await b.pod('u2', { runMs: 1 });
  await b.clock.advance(10);
  const r = b.runtime;
  assert.deepEqual(
    (await b.of(r.listPodSandbox({ labelSelector: { 'io.kubernetes.pod.uid': 'u2' } }))).map((s) => s.id),
    [two.sandbox],
  );
  assert.deepEqual(
    (await b.of(r.listPodSandbox({ id: one.sandbox }))).map((s) => s.id),
    [one.sandbox],
  );
  assert.deepEqual(
    (await b.of(r.listContainers({ state: 'running' }))).map((c) => c.id),
    [one.container],
  );
  assert.deepEqual(
    (await b.of(r.listContainers({ podSandboxId: two.sandbox }))).map((c) => c.id),
    [two.container],
  );
  assert.equal((await b.of(r.listPodSandbox({ state: 'notready' }))).length, 0);
});

test("what happens behind the agent's back", async () => {
  const b = new Bench();
  const { sandbox, container } = await b.pod('u1');
  const m = b.runtime.machine;
  const record = m.containers.get(container);
  const s = m.sandboxes.get(sandbox);
  assert.ok(record && s);
  m.exit(record, 137, 'OOMKilled');
  assert.equal((await b.of(b.runtime.containerStatus(container))).reason, 'OOMKilled');
  m.endSandbox(s, 'pause killed');
  assert.equal((await b.of(b.runtime.podSandboxStatus(sandbox))).state, 'notready');
  m.dropContainer(record);
  await assert.rejects(b.of(b.runtime.containerStatus(container)), code('NotFound'));
  m.dropSandbox(s);
  assert.equal((await b.of(b.runtime.listPodSandbox())).length, 0);
});

test('the event stream is Unimplemented unless asked for, then tells what happens and breaks with the runtime', async () => {
  const plain = new Bench();
  const first = plain.runtime.containerEvents(new AbortController().signal)[Symbol.asyncIterator]().next();
  await assert.rejects(plain.of(first), code('Unimplemented'));

  const b = new Bench({ events: true });
  const seen: string[] = [];
  const reading = (async () => {
    for await (const e of b.runtime.containerEvents(new AbortController().signal)) seen.push(`${e.type} ${e.podUid}`);
  })();
  await b.clock.advance(5);
  await b.pod('u1', { runMs: 50 });
  await b.clock.advance(100);
  assert.deepEqual(seen, ['STARTED u1', 'CREATED u1', 'STARTED u1', 'STOPPED u1']);
  b.runtime.crash();
  await assert.rejects(b.of(reading), code('Unavailable'));
});

test('a killed process gets no answer and no timer any more', async () => {
  const b = new Bench();
  const process = new SimProcess();
  process.onDeath(() => b.runtime.wire.dropClients());
  const runtime = process.guard(b.runtime);
  const clock = process.clock(b.clock);
  let ran = 0;
  clock.after(50, () => ran++);
  const answers: string[] = [];
  runtime.runPodSandbox(sandboxConfig('u1'), '').then(
    () => answers.push('ok'),
    () => answers.push('failed'),
  );
  await b.clock.advance(20);
  process.kill();
  runtime.listContainers().then(
    () => answers.push('ok'),
    () => answers.push('failed'),
  );
  await b.clock.advance(10_000);
  assert.deepEqual([ran, answers], [0, []]);
  assert.equal(b.runtime.journal.of('ListContainers').length, 0);
  assert.equal(b.runtime.machine.sandboxes.size, 0);
});

test('the same seed tells the same story', async () => {
  const story = async (seed: number) => {
    const b = new Bench({}, seed);
    b.runtime.faults.add({ probability: 0.3, effect: { kind: 'error', code: 'Unavailable', message: 'chance' } });
    for (let i = 0; i < 10; i++) await b.pod(`u${i}`).catch(() => {});
    return b.runtime.journal.story(undefined, 1000);
  };
  assert.equal(await story(4), await story(4));
  assert.notEqual(await story(4), await story(5));
});
