import assert from 'node:assert/strict';
import { test } from 'node:test';
import { podsDir } from './agent.ts';
import { simContainer, simPod } from './pods.ts';
import { World } from './world.ts';

/** Pods of their own user namespaces over crashes of the agent: the twin of what a current containerd shows for real. */

const Unit = 65_536;

class Scene {
  readonly world = new World({ seed: 7 });

  async boot(supported = true): Promise<this> {
    const features = { recursiveReadOnlyMounts: false, userNamespaces: true };
    this.world.runtime.runtimeHandlers = supported ? [{ name: '', features }] : [];
    this.world.runtime.registry.set('sim.local/busybox:1', { pullMs: 100 });
    await this.world.boot();
    return this;
  }

  add(name: string, spec: { hostUsers?: boolean } = { hostUsers: false }): string {
    this.world.source.put(simPod(name, name, { containers: [simContainer('main')], ...spec }));
    return name;
  }

  /** The mode and the first id of the host that the runtime was told for the pod's newest sandbox. */
  told(uid: string): [mode: string | undefined, first: number | undefined] {
    const sandbox = [...this.world.runtime.machine.sandboxes.values()].findLast((s) => s.config.metadata.uid === uid);
    const options = sandbox?.config.linux?.securityContext?.namespaceOptions?.usernsOptions;
    return [options?.mode, options?.uids[0]?.hostId];
  }

  async until(what: string, predicate: () => boolean): Promise<void> {
    assert.ok(await this.world.clock.runUntil(predicate, 120_000), `${what}\n${this.world.log.slice(-5).join('\n')}`);
  }

  runs(uid: string): Promise<void> {
    return this.until(`${uid} runs`, () => this.world.isRunning(uid));
  }

  file(uid: string) {
    return this.world.do(this.world.files.stat(`${podsDir}/${uid}/userns`));
  }
}

test('each pod has ids of its own, sandbox and container the same, and pods of the host’s namespace none', async () => {
  const scene = await new Scene().boot();
  for (const uid of [scene.add('a'), scene.add('b'), scene.add('c', {})]) await scene.runs(uid);
  assert.deepEqual(new Set([scene.told('a')[1], scene.told('b')[1]]), new Set([Unit, 2 * Unit]));
  assert.deepEqual(scene.told('c'), ['NODE', undefined]);
  for (const { sandbox, config } of scene.world.runtime.machine.containers.values()) {
    const inSandbox = sandbox.config.linux?.securityContext?.namespaceOptions?.usernsOptions;
    assert.deepEqual(config.linux?.securityContext?.namespaceOptions?.usernsOptions, inSandbox);
    for (const mount of config.mounts) assert.deepEqual(mount.uidMappings ?? [], inSandbox?.uids);
  }
});

test('after a crash of the agent the pods keep their ids, and nobody else gets them', async () => {
  const scene = await new Scene().boot();
  await scene.runs(scene.add('a'));
  await scene.runs(scene.add('b'));
  scene.world.agent?.kill();
  await scene.world.boot();
  await scene.runs(scene.add('c'));
  assert.deepEqual(
    [scene.told('a'), scene.told('b'), scene.told('c')],
    [
      ['POD', Unit],
      ['POD', 2 * Unit],
      ['POD', 3 * Unit],
    ],
  );
});

test('what a pod leaves is free again, also when the agent crashed before it could free it', async () => {
  const scene = await new Scene().boot();
  await scene.runs(scene.add('a'));
  await scene.runs(scene.add('b'));
  scene.world.source.remove('a');
  await scene.until('a is gone', () => scene.world.agent?.kubelet.dispatcher.state('a' as never) === undefined);
  assert.equal(await scene.file('a'), undefined);
  scene.world.agent?.kill();
  scene.world.source.remove('b');
  await scene.world.boot();
  await scene.until('b is swept', () => !scene.world.isRunning('b'));
  await scene.world.clock.runUntil(() => false, 60_000);
  assert.equal(await scene.file('b'), undefined);
  await scene.runs(scene.add('c'));
  await scene.runs(scene.add('d'));
  assert.deepEqual(
    [scene.told('c'), scene.told('d')],
    [
      ['POD', Unit],
      ['POD', 2 * Unit],
    ],
  );
});

test('a runtime without user namespaces: the pod is told why, and others run', async () => {
  const scene = await new Scene().boot(false);
  scene.add('a');
  await scene.runs(scene.add('b', {}));
  const failed = () => scene.world.events.find((e) => e.uid === 'a' && e.reason === 'FailedCreatePodSandBox');
  await scene.until('the event', () => failed() !== undefined);
  assert.equal(
    failed()?.message,
    "Failed to create pod sandbox: can't set `spec.hostUsers: false`, runtime does not support user namespaces",
  );
  assert.equal(await scene.file('a'), undefined);
});

test('a ninth pod waits until one of eight gives its ids back', async () => {
  const scene = await new Scene().boot();
  for (const n of [1, 2, 3, 4, 5, 6, 7, 8]) await scene.runs(scene.add(`p${n}`));
  scene.add('late');
  await scene.until('the event', () => scene.world.events.some((e) => e.uid === 'late' && /all 8 blocks of ids are taken/.test(e.message)));
  scene.world.source.remove('p3');
  await scene.runs('late');
  assert.deepEqual(scene.told('late'), ['POD', 3 * Unit]);
});
