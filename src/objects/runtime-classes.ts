import type { Clock } from '../host/clock.ts';
import type { Random } from '../host/random.ts';
import type { KubeApi } from '../kube/api.ts';
import { runtimeClassTarget } from '../kube/typed.ts';
import type { RuntimeClass } from '../kube/types.ts';
import { WatchOnDemand } from '../kube/watch-on-demand.ts';
import type { Logger } from '../observe/log.ts';

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
  readonly #watch: WatchOnDemand<RuntimeClass>;

  constructor(deps: RuntimeClassesDeps) {
    this.#watch = new WatchOnDemand<RuntimeClass>({ ...runtimeClassTarget, ...deps });
  }

  /** The runtime's handler; '' is its default one. Rejects for an unknown class, and while classes are not known. */
  async handlerOf(name: string | undefined): Promise<string> {
    if (name === undefined || name === '') return '';
    const classes = await this.#watch.objects(SyncWaitMs, `failed to lookup RuntimeClass ${name}: RuntimeClasses are not known yet`);
    const found = classes.get(name);
    if (found === undefined) {
      throw new Error(`failed to lookup RuntimeClass ${name}: runtimeclass.node.k8s.io ${JSON.stringify(name)} not found`);
    }
    return found.handler;
  }

  stop(): Promise<void> {
    return this.#watch.stop();
  }
}
