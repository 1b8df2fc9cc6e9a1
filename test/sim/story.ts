import type { Pod } from '../../src/api/types.ts';
import { podLogsDir, rootDir } from './agent.ts';
import { notConverged } from './convergence.ts';
import { mutating, operations } from './journal.ts';
import { Oracle } from './oracle.ts';
import { expectationOf, type PodChoices, randomPod } from './pods.ts';
import { SimRandom } from './random.ts';
import { SimSource } from './source.ts';
import { World } from './world.ts';

/** What may happen in a story. All of it by default. */
export interface StoryOptions {
  seed: number;
  steps?: number;
  maxPods?: number;
  pods?: PodChoices;
  /** Names of actions left out. */
  without?: readonly string[];
}

/** After the last disturbance a world has so long to come to rest; virtual milliseconds. */
const calmMs = 25 * 60_000;

type Action = (s: Story) => Promise<void> | void;

/**
 * A random story of a node, told by its seed: pods come, change and go while the runtime, the disk, the clock and the
 * agent itself fail. Then all is calm, and everything must become as it was asked to be.
 */
export class Story {
  readonly world: World;
  readonly oracle: Oracle;
  readonly random: SimRandom;
  /** What was done, line by line. */
  readonly acts: string[] = [];
  readonly #options: StoryOptions;
  readonly #gone: Pod[] = [];
  #names = 0;
  #mends: (() => void)[] = [];

  constructor(options: StoryOptions) {
    this.#options = options;
    this.random = new SimRandom(options.seed).fork('story');
    const source = new SimSource(this.random.chance(0.3) ? 'api' : 'file');
    this.world = new World({
      seed: options.seed,
      source,
      events: this.random.chance(0.3),
      startSlots: this.random.int(1, 8),
      serialPulls: this.random.chance(0.3),
    });
    this.oracle = new Oracle(this.world);
  }

  /** Tells the whole story. The trouble it ended in, in words; empty when all was well. */
  async tell(): Promise<string[]> {
    await this.boot();
    const chosen = Object.entries(actions).filter(([name]) => !this.#options.without?.includes(name));
    const deck = chosen.flatMap(([name, [weight]]) => new Array<string>(weight).fill(name));
    for (let step = 0; step < (this.#options.steps ?? 25); step++) {
      const name = this.random.pick(deck);
      const act = actions[name]?.[1];
      this.acts.push(`${this.world.clock.monotonic().toFixed(1)} ${name}`);
      await act?.(this);
      if (this.oracle.all().length > 0) return this.oracle.all();
    }
    return this.#calm();
  }

  say(text: string): void {
    this.acts.push(`  ${text}`);
  }

  async boot(): Promise<void> {
    this.oracle.booted();
    await this.world.boot();
  }

  get pods(): Pod[] {
    return this.world.source.pods;
  }

  newPod(): Pod {
    const choices = { broken: true, ...this.#options.pods };
    const pod = randomPod(this.random, `pod${this.#names++}`, choices);
    if (this.world.source.name === 'api') pod.metadata.annotations = { 'kubernetes.io/config.source': 'api' };
    return pod;
  }

  get full(): boolean {
    return this.pods.length >= (this.#options.maxPods ?? 6);
  }

  remove(pod: Pod): void {
    this.oracle.remove(pod.metadata.uid);
    this.#gone.push(pod);
  }

  takeGone(): Pod | undefined {
    return this.#gone.length === 0 ? undefined : this.#gone.splice(this.random.int(0, this.#gone.length - 1), 1)[0];
  }

  /** Injects trouble for a while. */
  trouble(mend: () => void, ms: number): void {
    this.#mends.push(mend);
    this.world.clock.after(ms, mend);
  }

  async #calm(): Promise<string[]> {
    const { world, oracle } = this;
    this.acts.push(`${world.clock.monotonic().toFixed(1)} calm`);
    for (const mend of this.#mends) mend();
    world.files.clearFaults();
    world.runtime.faults.clear();
    world.runtime.wire.releaseHung();
    world.runtime.networkReady = true;
    if (!world.runtime.wire.up) world.runtime.start();
    if (!world.agent?.process.alive) await this.boot();
    const end = world.clock.monotonic() + calmMs;
    let trouble: string[] = [];
    while (world.clock.monotonic() < end) {
      await world.clock.advance(5_000);
      if (oracle.all().length > 0) return oracle.all();
      trouble = notConverged(world, oracle);
      if (trouble.length === 0) break;
    }
    if (trouble.length > 0) return trouble;
    return this.#idle();
  }

  /** Nothing is to do any more: hardly a call goes out, and none that changes a pod which needs none. */
  async #idle(): Promise<string[]> {
    const { world, oracle } = this;
    const out: string[] = [];
    await world.clock.advance(60_000);
    const from = world.clock.monotonic();
    await world.clock.advance(120_000);
    const calls = world.runtime.journal.between(from, world.clock.monotonic());
    const most = 2 * (2 * 60 * 2 + 30) + this.pods.length * 100;
    if (calls.length > most)
      out.push(`${calls.length} calls in two idle minutes with ${this.pods.length} pods, at most ${most} are in order`);
    // A pod in which something ended of itself lately has its reasons.
    const busy = new Set(
      world.runtime.journal.happenings.filter((h) => h.kind === 'container-exited' && h.at > from - 400_000).map((h) => h.podUid),
    );
    const restless = new Set(
      this.pods
        .filter((p) => ['loops', 'stuck'].includes(expectationOf(p)) || oracle.disturbed.has(p.metadata.uid))
        .map((p) => p.metadata.uid),
    );
    for (const call of calls) {
      if (mutating.has(call.op) && call.podUid !== undefined && !restless.has(call.podUid) && !busy.has(call.podUid))
        out.push(`${call.op} ${call.container ?? ''} of pod ${call.podUid} although all is well`);
    }
    // What changed in the last second may not have been seen yet.
    let trouble = notConverged(world, oracle);
    for (let i = 0; i < 5 && trouble.length > 0; i++) {
      await world.clock.advance(1_500);
      trouble = notConverged(world, oracle);
    }
    out.push(...trouble, ...oracle.all());
    return out;
  }
}

const wait = (low: number, high: number): Action => {
  return async (s) => {
    const ms = Math.round(Math.exp(s.random.between(Math.log(low), Math.log(high))));
    s.say(`${ms} ms`);
    await s.world.clock.advance(ms);
  };
};

/** Weight and deed of each thing that can happen. */
const actions: Record<string, readonly [number, Action]> = {
  'wait a moment': [10, wait(1, 2_000)],
  'wait long': [6, wait(2_000, 120_000)],
  'add a pod': [
    12,
    (s) => {
      if (s.full) return;
      const pod = s.newPod();
      s.say(`${pod.metadata.uid} ${expectationOf(pod)}`);
      s.oracle.put(pod);
    },
  ],
  'remove a pod': [
    6,
    (s) => {
      if (s.pods.length === 0) return;
      const pod = s.random.pick(s.pods);
      s.say(pod.metadata.uid);
      s.remove(pod);
    },
  ],
  'add a pod again': [
    4,
    (s) => {
      const pod = s.full ? undefined : s.takeGone();
      if (pod === undefined) return;
      s.say(pod.metadata.uid);
      const again = structuredClone(pod);
      delete again.metadata.deletionTimestamp;
      delete again.metadata.deletionGracePeriodSeconds;
      s.oracle.put(again);
    },
  ],
  'change an image': [
    4,
    (s) => {
      if (s.pods.length === 0) return;
      const pod = structuredClone(s.random.pick(s.pods));
      if (pod.metadata.deletionTimestamp !== undefined) return;
      const c = s.random.pick(pod.spec.containers);
      c.image = `sim.local/new:${s.random.int(1, 1000)}`;
      s.say(`${pod.metadata.uid} ${c.name}`);
      s.oracle.put(pod);
    },
  ],
  'resize a container': [
    10,
    (s) => {
      if (s.pods.length === 0) return;
      const pod = structuredClone(s.random.pick(s.pods));
      if (pod.metadata.deletionTimestamp !== undefined) return;
      const c = s.random.pick(pod.spec.containers);
      const milli = s.random.int(100, 900);
      c.resources = { requests: { cpu: `${s.random.int(10, milli)}m` }, limits: { cpu: `${milli}m` } };
      s.say(`${pod.metadata.uid} ${c.name} ${milli}m`);
      s.oracle.put(pod);
    },
  ],
  'delete a pod with a grace': [
    3,
    (s) => {
      if (s.pods.length === 0 || s.world.source.name !== 'api') return;
      const pod = structuredClone(s.random.pick(s.pods));
      const before = pod.metadata.deletionGracePeriodSeconds ?? 60;
      pod.metadata.deletionTimestamp ??= '2026-01-01T00:00:00Z';
      pod.metadata.deletionGracePeriodSeconds = s.random.pick([1, 2, 5, 30].filter((n) => n <= before));
      s.say(`${pod.metadata.uid} ${pod.metadata.deletionGracePeriodSeconds} s`);
      s.oracle.put(pod);
    },
  ],
  'the runtime restarts': [
    2,
    (s) => {
      if (!s.world.runtime.wire.up) return;
      const ms = s.random.pick([10, 500, 5_000, 60_000]);
      s.say(`${ms} ms`);
      s.world.runtime.restart(ms);
    },
  ],
  'calls fail': [
    3,
    (s) => {
      const op = s.random.chance(0.3) ? undefined : s.random.pick(operations);
      const code = s.random.pick(['Unavailable', 'Unknown', 'DeadlineExceeded', 'Internal', 'ResourceExhausted'] as const);
      const when = s.random.chance(0.3) ? 'after' : 'before';
      const probability = s.random.pick([0.1, 0.5, 1]);
      s.say(`${op ?? 'any'} ${code} ${when} ${probability}`);
      s.trouble(
        s.world.runtime.faults.add({ ...(op ? { op } : {}), probability, effect: { kind: 'error', code, message: 'injected', when } }),
        s.random.pick([1_000, 20_000, 90_000]),
      );
    },
  ],
  'a call hangs': [
    2,
    (s) => {
      const op = s.random.pick(operations);
      const when = s.random.chance(0.4) ? 'after' : 'before';
      s.say(`${op} ${when}`);
      s.trouble(s.world.runtime.faults.add({ op, times: 1, effect: { kind: 'hang', when } }), 60_000);
    },
  ],
  'the runtime is slow': [
    1,
    (s) => s.trouble(s.world.runtime.faults.add({ probability: 0.5, effect: { kind: 'slow', ms: s.random.pick([200, 3_000]) } }), 30_000),
  ],
  'the network is not ready': [
    1,
    (s) => {
      s.world.runtime.networkReady = false;
      s.trouble(
        () => {
          s.world.runtime.networkReady = true;
        },
        s.random.pick([2_000, 30_000]),
      );
    },
  ],
  'a container is killed for its memory': [
    3,
    (s) => {
      const running = [...s.world.runtime.machine.containers.values()].filter((c) => c.state === 'running');
      if (running.length === 0) return;
      const c = s.random.pick(running);
      s.say(`${c.sandbox.config.metadata.uid} ${c.config.metadata.name}`);
      s.oracle.disturbed.add(c.sandbox.config.metadata.uid);
      s.world.runtime.machine.exit(c, 137, 'OOMKilled');
    },
  ],
  'a sandbox dies': [
    2,
    (s) => {
      const all = [...s.world.runtime.machine.sandboxes.values()];
      if (all.length === 0) return;
      const sandbox = s.random.pick(all);
      const how = s.random.pick(['ends', 'vanishes'] as const);
      s.say(`${sandbox.config.metadata.uid} ${how}`);
      s.oracle.disturbed.add(sandbox.config.metadata.uid);
      for (const c of s.world.runtime.machine.containersOf(sandbox)) s.world.runtime.machine.exit(c, 137);
      if (how === 'ends') s.world.runtime.machine.endSandbox(sandbox, 'killed by someone');
      else {
        s.oracle.lost.add(sandbox.config.metadata.uid);
        s.world.runtime.machine.dropSandbox(sandbox);
      }
    },
  ],
  'a container is removed by someone': [
    2,
    (s) => {
      const all = [...s.world.runtime.machine.containers.values()];
      if (all.length === 0) return;
      const c = s.random.pick(all);
      s.say(`${c.sandbox.config.metadata.uid} ${c.config.metadata.name} ${c.state}`);
      s.oracle.lost.add(c.sandbox.config.metadata.uid);
      s.oracle.disturbed.add(c.sandbox.config.metadata.uid);
      s.world.runtime.machine.exit(c, 137);
      s.world.runtime.machine.dropContainer(c);
    },
  ],
  'an image disappears': [
    1,
    (s) => {
      const ids = [...s.world.runtime.registry.local.keys()];
      if (ids.length > 0) s.world.runtime.registry.local.delete(s.random.pick(ids));
    },
  ],
  'the disk fails': [
    2,
    (s) => {
      s.oracle.diskFault = true;
      const under = s.random.pick([podLogsDir, `${rootDir}/pods`]);
      const how = s.random.pick(['full', 'readOnly'] as const);
      s.say(`${under} ${how}`);
      s.trouble(s.world.files[how](under), s.random.pick([3_000, 40_000]));
    },
  ],
  'the wall clock jumps': [
    1,
    (s) => {
      const ms = s.random.pick([-3_600_000, -5_000, 5_000, 3_600_000]);
      s.say(`${ms} ms`);
      s.world.clock.jump(ms);
    },
  ],
  'the agent crashes': [
    4,
    async (s) => {
      s.world.agent?.kill();
      if (s.random.chance(0.5)) await s.world.clock.advance(s.random.pick([1, 3_000, 60_000]));
      await s.boot();
    },
  ],
  'the agent crashes while a pod goes or comes': [
    2,
    async (s) => {
      s.world.agent?.kill();
      if (s.pods.length > 0 && s.random.chance(0.5)) s.remove(s.random.pick(s.pods));
      if (!s.full && s.random.chance(0.5)) s.oracle.put(s.newPod());
      await s.world.clock.advance(s.random.pick([1, 3_000, 60_000]));
      await s.boot();
    },
  ],
  'the agent stops in order': [
    2,
    async (s) => {
      await s.world.agent?.stop();
      await s.world.clock.advance(s.random.pick([1, 5_000]));
      await s.boot();
    },
  ],
};
