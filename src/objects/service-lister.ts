import { isStaticPod } from '../api/pod.ts';
import type { Pod } from '../api/types.ts';
import type { Clock } from '../host/clock.ts';
import type { Random } from '../host/random.ts';
import { within } from '../host/within.ts';
import type { KubeApi } from '../kube/api.ts';
import { Reflector } from '../kube/reflector.ts';
import { serviceTarget } from '../kube/typed.ts';
import type { Service } from '../kube/types.ts';
import type { Logger } from '../observe/log.ts';
import type { Health } from '../observe/service.ts';
import { type ServiceForEnv, servicesFor, serviceVariables } from './service-env.ts';

/** How long the first pods of a boot wait for the first list of services. */
const SyncWaitMs = 1_000;

export interface ServiceListerDeps {
  api: KubeApi;
  clock: Clock;
  random: Random;
  log: Logger;
}

/** All services with an address, for the variables that pods get of them (contract pod-lifecycle.md §10). */
export class ServiceLister {
  readonly #clock: Clock;
  readonly #reflector: Reflector<Service>;

  constructor({ api, clock, random, log }: ServiceListerDeps) {
    this.#clock = clock;
    // Services without an address give no variables: as the real kubelet, they are not even asked for.
    this.#reflector = new Reflector<Service>({ ...serviceTarget, fieldSelector: 'spec.clusterIP!=None', api, clock, random, log });
  }

  /** Works until `signal` aborts. To be called once. */
  run(signal: AbortSignal): Promise<void> {
    return this.#reflector.run(signal);
  }

  health(): Health {
    return this.#reflector.health();
  }

  /**
   * The variables of the services that a pod sees. Rejects while services are not known, lest a pod start without a way
   * to the API server; a static pod starts at once, with what is known.
   */
  async serviceEnv(pod: Pod): Promise<ReadonlyMap<string, string>> {
    const { namespace } = pod.metadata;
    if (!this.#reflector.synced && !isStaticPod(pod) && !(await within(this.#clock, this.#reflector.whenSynced(), SyncWaitMs))) {
      throw new Error('services have not yet been read at least once, cannot construct envvars');
    }
    const seen = servicesFor(this.#services(), namespace, pod.spec.enableServiceLinks ?? true);
    return new Map(serviceVariables(seen).map(({ name, value }) => [name, value]));
  }

  *#services(): Iterable<ServiceForEnv> {
    for (const { metadata, spec } of this.#reflector.objects.values()) if (spec !== undefined) yield { metadata, spec };
  }
}
