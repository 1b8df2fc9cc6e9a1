import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContainerConfig, PodSandboxConfig } from '../../src/cri/types.ts';
import { notConverged } from './convergence.ts';
import { Oracle } from './oracle.ts';
import { expectationOf, randomPod, simContainer, simPod } from './pods.ts';
import { SimRandom } from './random.ts';
import { World } from './world.ts';

/** The oracle must see what a bad agent does: here the test itself is the bad agent, straight on the runtime. */
class BadAgent {
  readonly world = new World({ seed: 1 });
  readonly oracle = new Oracle(this.world);
  readonly sandboxConfig: PodSandboxConfig = {
    metadata: { name: 'a', uid: 'u', namespace: 'default', attempt: 0 },
    portMappings: [],
    labels: { 'io.kubernetes.pod.uid': 'u' },
    annotations: {},
  };

  constructor() {
    this.world.runtime.registry.add('sim.local/busybox:1');
  }

  config(name: string, attempt = 0): ContainerConfig {
    const { image = '', command = [] } = simContainer(name, { term: 'ignore' });
    return {
      metadata: { name, attempt },
      image: { image, userSpecifiedImage: image },
      command,
      args: [],
      envs: [],
      mounts: [],
      devices: [],
      labels: {},
      annotations: {},
    };
  }

  sandbox(): Promise<string> {
    return this.world.do(this.world.runtime.runPodSandbox(this.sandboxConfig, ''));
  }

  async start(sandbox: string, name: string, attempt = 0): Promise<string> {
    const { runtime } = this.world;
    const id = await this.world.do(runtime.createContainer(sandbox, this.config(name, attempt), this.sandboxConfig));
    await this.world.do(runtime.startContainer(id));
    return id;
  }

  seen(pattern: RegExp): void {
    assert.ok(
      this.oracle.all().some((v) => pattern.test(v)),
      `${pattern} is not among ${JSON.stringify(this.oracle.all())}`,
    );
  }
}

const pod = (grace = 30) =>
  simPod('a', 'u', { containers: [simContainer('main', { term: 'ignore' })], terminationGracePeriodSeconds: grace });

test('a good life is no violation', async () => {
  const a = new BadAgent();
  a.oracle.put(pod());
  const sandbox = await a.sandbox();
  const id = await a.start(sandbox, 'main');
  a.oracle.remove('u');
  await a.world.do(a.world.runtime.stopContainer(id, 30));
  await a.world.do(a.world.runtime.stopPodSandbox(sandbox));
  await a.world.do(a.world.runtime.removePodSandbox(sandbox));
  assert.deepEqual(a.oracle.all(), []);
  assert.deepEqual(notConverged(a.world, a.oracle), []);
});

test('a grace that is too short, too long, or not given at all is seen', async () => {
  for (const [seconds, pattern] of [
    [2, /with 2 s, its grace is 30 to 30/],
    [31, /with 31 s/],
    [0, /at least 2/],
  ] as const) {
    const a = new BadAgent();
    a.oracle.put(pod());
    const id = await a.start(await a.sandbox(), 'main');
    a.oracle.remove('u');
    await a.world.do(a.world.runtime.stopContainer(id, seconds));
    a.seen(pattern);
  }
  const a = new BadAgent();
  a.oracle.put(pod());
  const sandbox = await a.sandbox();
  await a.start(sandbox, 'main');
  a.oracle.remove('u');
  await a.world.do(a.world.runtime.stopPodSandbox(sandbox));
  a.seen(/SIGKILL without SIGTERM/);
});

test('a stop without a reason, and a start of what nobody asks for, are seen', async () => {
  const a = new BadAgent();
  a.oracle.put(pod(2));
  const sandbox = await a.sandbox();
  const id = await a.start(sandbox, 'main');
  await a.world.do(a.world.runtime.stopContainer(id, 2));
  a.seen(/without a reason/);
  a.oracle.remove('u');
  await a.world.clock.advance(1_000);
  await a.start(sandbox, 'main', 1);
  a.seen(/which nobody asks for/);
});

test('a container before its init container, and a restart count that falls, are seen', async () => {
  const a = new BadAgent();
  const withInit = pod();
  withInit.spec.initContainers = [simContainer('first', { runMs: 5 })];
  a.oracle.put(withInit);
  const sandbox = await a.sandbox();
  const id = await a.start(sandbox, 'main', 3);
  a.seen(/before init container first succeeded/);
  const record = a.world.runtime.machine.containers.get(id);
  assert.ok(record);
  a.world.runtime.machine.exit(record, 1);
  await a.start(sandbox, 'main', 1);
  a.seen(/restart count 1 after 3/);
});

test('two ready sandboxes, a container that runs twice, two calls side by side and a storm are seen', async () => {
  const a = new BadAgent();
  a.oracle.put(pod());
  const first = a.sandbox();
  const sandbox = await first;
  a.sandboxConfig.metadata.attempt = 1;
  const second = await a.sandbox();
  a.seen(/a second ready sandbox/);
  await a.start(sandbox, 'main');
  await a.start(second, 'main', 1);
  a.seen(/runs twice/);
  const { runtime } = a.world;
  await a.world.do(
    Promise.all([runtime.stopPodSandbox(sandbox), runtime.createContainer(sandbox, a.config('main', 7), a.sandboxConfig).catch(() => {})]),
  );
  a.seen(/was sent at .* while .* was under way/);
  for (let i = 0; i < 130; i++) await a.world.do(runtime.stopPodSandbox(sandbox));
  a.seen(/calls in a minute that change pod u/);
});

test('what is left of a pod and what a status hides are seen', async () => {
  const a = new BadAgent();
  await a.world.boot();
  a.oracle.put(pod());
  await a.world.clock.advance(10_000);
  assert.deepEqual(notConverged(a.world, a.oracle), []);
  a.world.agent?.kill();
  const [c] = [...a.world.runtime.machine.containers.values()];
  assert.ok(c);
  a.world.runtime.machine.exit(c, 1);
  assert.ok(notConverged(a.world, a.oracle).some((t) => /is shown as running/.test(t)));
  a.oracle.remove('u');
  const left = notConverged(a.world, a.oracle).join('\n');
  for (const part of ['its sandbox', 'its container', 'its directory', 'its logs', 'its lane', 'its cgroup'])
    assert.ok(left.includes(part), part);
});

test('random pods repeat by seed, and every expectation occurs', () => {
  const seen = new Set<string>();
  for (let seed = 1; seed <= 300; seed++) {
    const a = randomPod(new SimRandom(seed), 'p', { broken: true });
    assert.deepEqual(a, randomPod(new SimRandom(seed), 'p', { broken: true }));
    seen.add(expectationOf(a));
  }
  assert.deepEqual([...seen].sort(), ['Failed', 'Succeeded', 'loops', 'runs', 'stuck']);
});
