import { CriError, isCriError } from '../../src/cri/errors.ts';
import type { CriImages, CriRuntime } from '../../src/cri/ports.ts';
import type { ContainerConfig, PodSandboxConfig } from '../../src/cri/types.ts';
import type { Clock } from '../../src/host/clock.ts';

/** A runtime on which the scenarios run: the real one or the simulated one. */
export interface ContractWorld {
  runtime: CriRuntime;
  images: CriImages;
  clock: Pick<Clock, 'monotonic' | 'sleep'>;
  image: string;
  /** Unique per run, so that nothing is left of an earlier one. */
  prefix: string;
  logDirectory: string;
  cgroupParent?: string;
  /** Ends the runtime's process at once, and starts it again `downMs` later. */
  restart(downMs: number): Promise<void>;
  /** Commands by what the process does. */
  commands: Record<'runs' | 'ignoresTerm' | 'obeysTerm' | 'exits0' | 'exits3' | 'exits4Later' | 'missing', string[]>;
}

/** What a scenario saw, line by line, with nothing in it that differs from run to run. */
export type Transcript = string[];

/** Runs `work` and notes how it ended: `ok`, or the code and the part of the message that a client could lean on. */
async function note(log: Transcript, what: string, work: () => Promise<unknown>): Promise<void> {
  try {
    const value = await work();
    log.push(`${what}: ok${value === undefined || typeof value === 'string' ? '' : ` ${JSON.stringify(value)}`}`);
  } catch (err) {
    if (!isCriError(err)) throw err;
    log.push(`${what}: ${err.code}${err.message.includes('is reserved for') ? ' (name is reserved)' : ''}`);
  }
}

class Stage {
  readonly log: Transcript = [];
  readonly w: ContractWorld;
  readonly config: PodSandboxConfig;

  constructor(w: ContractWorld, name: string) {
    this.w = w;
    this.config = {
      metadata: { name: `${w.prefix}-${name}`, uid: `${w.prefix}-${name}-uid`, namespace: 'contract', attempt: 0 },
      hostname: 'contract',
      logDirectory: `${w.logDirectory}/${name}`,
      portMappings: [],
      labels: { run: w.prefix, scenario: name },
      annotations: {},
      linux: {
        ...(w.cgroupParent ? { cgroupParent: w.cgroupParent } : {}),
        securityContext: { namespaceOptions: { network: 'POD', pid: 'CONTAINER', ipc: 'POD' } },
      },
    };
  }

  note(what: string, work: () => Promise<unknown>): Promise<void> {
    return note(this.log, what, work);
  }

  sandbox(): Promise<string> {
    return this.w.runtime.runPodSandbox(this.config, '');
  }

  container(name: string, command: string[], attempt = 0): ContainerConfig {
    return {
      metadata: { name, attempt },
      image: { image: this.w.image },
      command,
      args: [],
      envs: [],
      mounts: [],
      devices: [],
      labels: { run: this.w.prefix, container: name },
      annotations: {},
      logPath: `${name}_${attempt}.log`,
      linux: { securityContext: { namespaceOptions: { network: 'POD', pid: 'CONTAINER', ipc: 'POD' } } },
    };
  }

  create(sandbox: string, name: string, command: string[], attempt = 0): Promise<string> {
    return this.w.runtime.createContainer(sandbox, this.container(name, command, attempt), this.config);
  }

  async run(sandbox: string, name: string, command: string[], attempt = 0): Promise<string> {
    const id = await this.create(sandbox, name, command, attempt);
    await this.w.runtime.startContainer(id);
    return id;
  }

  async state(id: string): Promise<unknown> {
    const s = await this.w.runtime.containerStatus(id);
    const times = `${s.createdAt > 0n}/${s.startedAt > 0n}/${s.finishedAt > 0n}`;
    return { state: s.state, exitCode: s.exitCode, reason: s.reason, times, message: s.message !== '' };
  }

  async exited(id: string): Promise<void> {
    for (let i = 0; i < 100; i++) {
      if ((await this.w.runtime.containerStatus(id)).state === 'exited') return;
      await this.w.clock.sleep(100);
    }
    throw new CriError('DeadlineExceeded', 'ContainerStatus', 'the container never exits');
  }
}

/** Each scenario leaves nothing behind when it succeeds. */
export const scenarios: Record<string, (w: ContractWorld) => Promise<Transcript>> = {
  async life(w) {
    const s = new Stage(w, 'life');
    const { runtime } = w;
    const sandbox = await s.sandbox();
    await s.note('sandbox', async () => {
      const st = await runtime.podSandboxStatus(sandbox);
      return {
        state: st.state,
        ip: /^\d+\.\d+\.\d+\.\d+$/.test(st.network?.ip ?? ''),
        created: st.createdAt > 0n,
        network: st.namespaceOptions?.network,
      };
    });
    const id = await s.create(sandbox, 'main', w.commands.ignoresTerm);
    await s.note('created', () => s.state(id));
    await s.note('stop of a created one', () => runtime.stopContainer(id, 2));
    await s.note('still created', () => s.state(id));
    await s.note('start', () => runtime.startContainer(id));
    await s.note('running', () => s.state(id));
    await s.note('start again', () => runtime.startContainer(id));
    await w.clock.sleep(500);
    const from = w.clock.monotonic();
    await s.note('stop', () => runtime.stopContainer(id, 2));
    const took = w.clock.monotonic() - from;
    s.log.push(`grace of 2 s: ${took >= 1_990 && took < 5_000 ? 'honoured' : `took ${took} ms`}`);
    await s.note('killed', () => s.state(id));
    await s.note('stop again', () => runtime.stopContainer(id, 2));
    await s.note('start when exited', () => runtime.startContainer(id));
    await s.note('exec when exited', () => runtime.execSync(id, ['true'], 1));
    await s.note('remove', () => runtime.removeContainer(id));
    await s.note('remove again', () => runtime.removeContainer(id));
    await s.note('status when removed', () => runtime.containerStatus(id));
    await s.note('start when removed', () => runtime.startContainer(id));
    await s.note('stop when removed', () => runtime.stopContainer(id, 2));
    await s.note('stop sandbox', () => runtime.stopPodSandbox(sandbox));
    await s.note('stop sandbox again', () => runtime.stopPodSandbox(sandbox));
    await s.note('stopped sandbox', async () => {
      const st = await runtime.podSandboxStatus(sandbox);
      return { state: st.state, network: st.network };
    });
    await s.note('create in a stopped sandbox', () => s.create(sandbox, 'late', w.commands.runs));
    await s.note('remove sandbox', () => runtime.removePodSandbox(sandbox));
    await s.note('remove sandbox again', () => runtime.removePodSandbox(sandbox));
    await s.note('sandbox status when removed', () => runtime.podSandboxStatus(sandbox));
    await s.note('stop sandbox when removed', () => runtime.stopPodSandbox(sandbox));
    return s.log;
  },

  async names(w) {
    const s = new Stage(w, 'names');
    const sandbox = await s.sandbox();
    await s.note('same sandbox', () => s.sandbox());
    const first = await s.create(sandbox, 'main', w.commands.runs);
    await s.note('same container', () => s.create(sandbox, 'main', w.commands.runs));
    await s.note('next attempt', async () => void (await s.create(sandbox, 'main', w.commands.runs, 1)));
    await w.runtime.removeContainer(first);
    await s.note('freed name', async () => void (await s.create(sandbox, 'main', w.commands.runs)));
    await w.runtime.stopPodSandbox(sandbox);
    await s.note('same sandbox after its stop', () => s.sandbox());
    await w.runtime.removePodSandbox(sandbox);
    await s.note('containers of a removed sandbox', async () => (await w.runtime.listContainers({ podSandboxId: sandbox })).length);
    const again = await s.sandbox();
    await w.runtime.stopPodSandbox(again);
    await w.runtime.removePodSandbox(again);
    return s.log;
  },

  async exits(w) {
    const s = new Stage(w, 'exits');
    const { runtime } = w;
    const sandbox = await s.sandbox();
    for (const kind of ['exits0', 'exits3'] as const) {
      const id = await s.run(sandbox, kind, w.commands[kind]);
      await s.exited(id);
      await s.note(kind, () => s.state(id));
    }
    const obeys = await s.run(sandbox, 'obeys', w.commands.obeysTerm);
    await w.clock.sleep(500);
    const from = w.clock.monotonic();
    await s.note('stop', () => runtime.stopContainer(obeys, 30));
    s.log.push(`stop is quick: ${w.clock.monotonic() - from < 5_000}`);
    await s.note('obeys', () => s.state(obeys));
    const missing = await s.create(sandbox, 'missing', w.commands.missing);
    await s.note('start of a missing command', () => runtime.startContainer(missing));
    await s.note('missing', () => s.state(missing));
    await s.note('absent image', () =>
      runtime.createContainer(sandbox, { ...s.container('absent', w.commands.runs), image: { image: 'sim.invalid/absent:1' } }, s.config),
    );
    await runtime.stopPodSandbox(sandbox);
    await runtime.removePodSandbox(sandbox);
    return s.log;
  },

  async force(w) {
    const s = new Stage(w, 'force');
    const { runtime } = w;
    const sandbox = await s.sandbox();
    const one = await s.run(sandbox, 'one', w.commands.runs);
    await s.note('remove a running container', () => runtime.removeContainer(one));
    const two = await s.run(sandbox, 'two', w.commands.ignoresTerm);
    const created = await s.create(sandbox, 'created', w.commands.runs);
    const from = w.clock.monotonic();
    await s.note('stop the sandbox', () => runtime.stopPodSandbox(sandbox));
    s.log.push(`containers get no grace from it: ${w.clock.monotonic() - from < 5_000}`);
    await s.note('two', () => s.state(two));
    await s.note('start in the stopped sandbox', () => runtime.startContainer(created));
    await s.note('created', async () => ({ state: (await runtime.containerStatus(created)).state }));
    await s.note('remove the sandbox', () => runtime.removePodSandbox(sandbox));
    await s.note('two is gone', () => runtime.containerStatus(two));
    const ready = await s.sandbox();
    await s.run(ready, 'three', w.commands.ignoresTerm);
    await s.note('remove a ready sandbox', () => runtime.removePodSandbox(ready));
    await s.note('left', async () => (await runtime.listPodSandbox({ labelSelector: { run: w.prefix, scenario: 'force' } })).length);
    return s.log;
  },

  async cancel(w) {
    const s = new Stage(w, 'cancel');
    const { runtime } = w;
    const sandbox = await s.sandbox();
    const id = await s.run(sandbox, 'main', w.commands.ignoresTerm);
    await w.clock.sleep(500);
    const abort = new AbortController();
    const stopping = s.note('cancelled stop', () => runtime.stopContainer(id, 600, { signal: abort.signal }));
    await w.clock.sleep(1000);
    abort.abort(new Error('shorter grace'));
    await stopping;
    await s.note('runs on', async () => ({ state: (await runtime.containerStatus(id)).state }));
    await s.note('stop with the shorter grace', () => runtime.stopContainer(id, 2));
    await s.note('killed', () => s.state(id));
    await runtime.stopPodSandbox(sandbox);
    await runtime.removePodSandbox(sandbox);
    const early = new AbortController();
    early.abort(new Error('before it is sent'));
    await s.note('a call with an aborted signal', () => runtime.listContainers({}, { signal: early.signal }));
    await s.note('RunPodSandbox past its deadline', () => runtime.runPodSandbox(s.config, '', { timeoutMs: 10 }));
    let left = -1;
    for (let i = 0; i < 50 && left !== 0; i++) {
      await w.clock.sleep(200);
      left = (await runtime.listPodSandbox({ labelSelector: { run: w.prefix, scenario: 'cancel' } })).length;
      for (const half of await runtime.listPodSandbox({ labelSelector: { run: w.prefix, scenario: 'cancel' } }))
        await runtime.removePodSandbox(half.id);
    }
    s.log.push(`what is left of it can be removed: ${left === 0}`);
    return s.log;
  },

  async restart(w) {
    const s = new Stage(w, 'restart');
    const { runtime } = w;
    const sandbox = await s.sandbox();
    const runs = await s.run(sandbox, 'runs', w.commands.obeysTerm);
    const created = await s.create(sandbox, 'created', w.commands.runs);
    const ends = await s.run(sandbox, 'ends', w.commands.exits4Later);
    const restarted = w.restart(3000);
    await w.clock.sleep(500);
    await s.note('list while it is down', () => runtime.listContainers());
    await restarted;
    await s.note('sandbox', async () => {
      const st = await runtime.podSandboxStatus(sandbox);
      return { state: st.state, ip: st.network?.ip !== '' };
    });
    await s.note('runs', () => s.state(runs));
    await s.note('created', () => s.state(created));
    await s.exited(ends);
    await s.note('ended meanwhile', () => s.state(ends));
    await s.note('same sandbox', () => s.sandbox());
    await s.note('same container', () => s.create(sandbox, 'runs', w.commands.runs));
    await s.note('start', () => runtime.startContainer(created));
    await s.note('stop', () => runtime.stopContainer(runs, 30));
    await s.note('stopped', () => s.state(runs));
    await runtime.stopPodSandbox(sandbox);
    await runtime.removePodSandbox(sandbox);
    return s.log;
  },

  async lists(w) {
    const s = new Stage(w, 'lists');
    const { runtime } = w;
    const sandbox = await s.sandbox();
    const a = await s.run(sandbox, 'a', w.commands.runs);
    const b = await s.run(sandbox, 'b', w.commands.exits0);
    await s.exited(b);
    const count = async (work: Promise<unknown[]>) => (await work).length;
    const labelSelector = { run: w.prefix };
    await s.note('sandboxes by label', () => count(runtime.listPodSandbox({ labelSelector: { run: w.prefix, scenario: 'lists' } })));
    await s.note('sandboxes by another label', () => count(runtime.listPodSandbox({ labelSelector: { run: 'another' } })));
    await s.note('sandbox by id', () => count(runtime.listPodSandbox({ id: sandbox })));
    await s.note('sandbox by short id', () => count(runtime.listPodSandbox({ id: sandbox.slice(0, 13) })));
    await s.note('sandbox by unknown id', () => count(runtime.listPodSandbox({ id: 'f'.repeat(64) })));
    await s.note('ready', () => count(runtime.listPodSandbox({ id: sandbox, state: 'ready' })));
    await s.note('not ready', () => count(runtime.listPodSandbox({ id: sandbox, state: 'notready' })));
    await s.note('containers', () => count(runtime.listContainers({ podSandboxId: sandbox })));
    await s.note('running', () => count(runtime.listContainers({ podSandboxId: sandbox, state: 'running' })));
    await s.note('exited', () => count(runtime.listContainers({ labelSelector, state: 'exited' })));
    await s.note('container by id and wrong state', () => count(runtime.listContainers({ id: a, state: 'exited' })));
    await s.note('container in an unknown sandbox', () => count(runtime.listContainers({ podSandboxId: 'f'.repeat(64) })));
    await s.note('image by name', async () => (await w.images.imageStatus({ image: w.image })) !== undefined);
    await s.note('image that is absent', async () => (await w.images.imageStatus({ image: 'sim.invalid/absent:1' })) === undefined);
    await s.note('removal of an absent image', () => w.images.removeImage({ image: 'sim.invalid/absent:1' }));
    await s.note('container image reference', async () => {
      const st = await runtime.containerStatus(a);
      const image = await w.images.imageStatus({ image: w.image });
      const byId = await runtime.createContainer(
        sandbox,
        { ...s.container('by-id', w.commands.runs), image: { image: image?.id ?? '' } },
        s.config,
      );
      const named = (await runtime.containerStatus(byId)).image.image === w.image;
      return {
        named: st.image.image === w.image,
        alsoById: named,
        listed: (await runtime.listContainers({ id: a }))[0]?.imageRef === image?.id,
      };
    });
    await runtime.stopPodSandbox(sandbox);
    await runtime.removePodSandbox(sandbox);
    return s.log;
  },
};
