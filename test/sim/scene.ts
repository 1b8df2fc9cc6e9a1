import assert from 'node:assert/strict';
import type { Pod } from '../../src/api/types.ts';
import type { Behaviour } from './behaviour.ts';
import { notConverged } from './convergence.ts';
import { Oracle } from './oracle.ts';
import { simContainer, simPod } from './pods.ts';
import { World, type WorldOptions } from './world.ts';

/** A world with an oracle beside it, for tests that tell what happens one thing after another. */
export class Scene {
  readonly world: World;
  readonly oracle: Oracle;

  constructor(options: Partial<WorldOptions> = {}) {
    this.world = new World({ seed: 11, ...options });
    this.oracle = new Oracle(this.world);
    this.world.runtime.registry.set('sim.local/busybox:1', { pullMs: 300 });
  }

  async boot(): Promise<this> {
    this.oracle.booted();
    await this.world.boot();
    return this;
  }

  add(name: string, behaviour: Behaviour = {}, spec: Partial<Pod['spec']> = {}): string {
    const uid = `uid-${name}`;
    this.oracle.put(simPod(name, uid, { containers: [simContainer('main', behaviour)], ...spec }));
    return uid;
  }

  status(uid: string): Pod['status'] {
    return this.world.podsByUid().get(uid)?.status;
  }

  isReady(uid: string): boolean {
    return this.status(uid)?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') ?? false;
  }

  waiting(uid: string): string | undefined {
    return this.status(uid)?.containerStatuses?.[0]?.state?.waiting?.reason;
  }

  async until(what: string, predicate: () => boolean, maxMs = 30_000): Promise<number> {
    const from = this.world.clock.monotonic();
    const held = await this.world.clock.runUntil(predicate, maxMs);
    assert.ok(
      held,
      `${what} did not happen within ${maxMs} ms\n${this.world.runtime.journal.story(undefined, 40)}\n${this.world.log.slice(-5).join('\n')}`,
    );
    return this.world.clock.monotonic() - from;
  }

  ready(uid: string, maxMs = 30_000): Promise<number> {
    return this.until(`pod ${uid} is ready`, () => this.isReady(uid), maxMs);
  }

  /** Ids of the containers that run. */
  running(): string[] {
    return [...this.world.runtime.machine.containers.values()].filter((c) => c.state === 'running').map((c) => c.id);
  }

  starts(uid: string): number[] {
    return this.world.runtime.journal.happenings.filter((h) => h.kind === 'container-started' && h.podUid === uid).map((h) => h.at);
  }

  check(): void {
    assert.deepEqual(this.oracle.all(), []);
  }

  async converged(maxMs = 120_000): Promise<void> {
    await this.until('all pods converge', () => notConverged(this.world, this.oracle).length === 0, maxMs);
    this.check();
  }
}
