import { ConfigSeenAnnotation, ConfigSourceAnnotation } from '../api/annotations.ts';
import { formatRfc3339Nano } from '../api/time.ts';
import type { Pod } from '../api/types.ts';
import type { Clock } from '../host/clock.ts';
import type { Random } from '../host/random.ts';
import type { KubeApi } from '../kube/api.ts';
import { Reflector } from '../kube/reflector.ts';
import { podTarget } from '../kube/typed.ts';
import type { Logger } from '../observe/log.ts';
import type { PodSet, PodSource } from './types.ts';

export interface ApiServerSourceDeps {
  api: KubeApi;
  nodeName: string;
  clock: Clock;
  random: Random;
  log: Logger;
  /** Resolves once the node's own object is known: pods are admitted against it. */
  nodeKnown(signal: AbortSignal): Promise<void>;
}

/** The pods that the API server has for this node, the copies of static pods (mirror pods) among them. */
export class ApiServerSource implements PodSource {
  readonly name = 'api';
  readonly #deps: ApiServerSourceDeps;
  readonly #reflector: Reflector<Pod>;
  /** What was made of each version of a pod: the same object as long as nothing changed. */
  #made = new Map<string, { from: Pod; pod: Pod }>();

  constructor(deps: ApiServerSourceDeps) {
    this.#deps = deps;
    const { api, clock, random, log, nodeName } = deps;
    this.#reflector = new Reflector<Pod>({ ...podTarget(nodeName), api, clock, random, log });
  }

  async *sets(signal: AbortSignal): AsyncGenerator<PodSet> {
    const { nodeKnown } = this.#deps;
    await nodeKnown(signal).catch((err: unknown) => {
      if (!signal.aborted) throw err;
    });
    if (signal.aborted) return;
    const watching = this.#reflector.run(signal);
    try {
      for await (const pods of this.#reflector.states(signal)) yield { pods: this.#take(pods), errors: [] };
    } finally {
      await watching;
    }
  }

  #take(pods: readonly Pod[]): Pod[] {
    const made = new Map<string, { from: Pod; pod: Pod }>();
    for (const from of pods) {
      const { uid } = from.metadata;
      const known = this.#made.get(uid);
      made.set(uid, known?.from === from ? known : { from, pod: this.#annotated(from, known?.pod) });
    }
    this.#made = made;
    return [...made.values()].map((m) => m.pod);
  }

  /** The pod with where it came from and when it was first seen, as the rooms read it. */
  #annotated(pod: Pod, earlier: Pod | undefined): Pod {
    const seen =
      earlier?.metadata.annotations?.[ConfigSeenAnnotation] ?? formatRfc3339Nano(BigInt(Math.round(this.#deps.clock.now() * 1000)) * 1000n);
    const annotations = { ...pod.metadata.annotations, [ConfigSourceAnnotation]: 'api', [ConfigSeenAnnotation]: seen };
    return { ...pod, metadata: { ...pod.metadata, annotations } };
  }
}
