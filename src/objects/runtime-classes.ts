import type { Clock } from '../host/clock.ts';
import type { Random } from '../host/random.ts';
import type { KubeApi } from '../kube/api.ts';
import { Reflector } from '../kube/reflector.ts';
import { runtimeClassTarget } from '../kube/typed.ts';
import type { RuntimeClass } from '../kube/types.ts';
import type { Logger } from '../observe/log.ts';
import { within } from './within.ts';

/** How long the first pod that names one waits for the first list. */
const SyncWaitMs = 1_000;

export interface RuntimeClassesDeps {
  api: KubeApi;
  clock: Clock;
  random: Random;
  log: Logger;
}

/** RuntimeClasses by name (contract node.md §13). Watched from the first pod on that names one: most nodes never see any. */
export class RuntimeClasses {
  readonly #deps: RuntimeClassesDeps;
  readonly #stop = new AbortController();
  #reflector: Reflector<RuntimeClass> | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(deps: RuntimeClassesDeps) {
    this.#deps = deps;
  }

  /** The runtime's handler; '' is its default one. Rejects for an unknown class, and while classes are not known. */
  async handlerOf(name: string | undefined): Promise<string> {
    if (name === undefined || name === '') return '';
    const reflector = this.#watch();
    if (!reflector.synced && !(await within(this.#deps.clock, reflector.whenSynced(), SyncWaitMs))) {
      const health = reflector.health();
      throw new Error(`failed to lookup RuntimeClass ${name}: RuntimeClasses are not known yet${health.ok ? '' : `: ${health.reason}`}`);
    }
    const found = reflector.objects.get(name);
    if (found === undefined) {
      throw new Error(`failed to lookup RuntimeClass ${name}: runtimeclass.node.k8s.io ${JSON.stringify(name)} not found`);
    }
    return found.handler;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  #watch(): Reflector<RuntimeClass> {
    if (this.#reflector === undefined) {
      this.#reflector = new Reflector<RuntimeClass>({ ...runtimeClassTarget, ...this.#deps });
      this.#running = this.#reflector.run(this.#stop.signal);
    }
    return this.#reflector;
  }
}
