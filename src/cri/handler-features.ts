import type { Pod } from '../api/types.ts';
import type { RuntimeHandler } from './types.ts';

export interface HandlerFeaturesDeps {
  /** What the runtime said of its handlers; empty when it says nothing of them. */
  handlers(): readonly RuntimeHandler[];
  /** The handler of a RuntimeClass; '' is the default one. Rejects for an unknown class. */
  handlerOf(runtimeClassName: string | undefined): Promise<string>;
  /** Feature gate RecursiveReadOnlyMounts. */
  recursiveReadOnlyMounts: boolean;
}

/** What the runtime handlers of pods can do (contract: compat-matrix.md §2, Status). */
export class HandlerFeatures {
  readonly #deps: HandlerFeaturesDeps;
  /** By RuntimeClass: a class never changes its handler. */
  readonly #handlers = new Map([['', '']]);

  constructor(deps: HandlerFeaturesDeps) {
    this.#deps = deps;
  }

  /** Whether the pod's mounts can be made read-only with all that lies below them. Rejects for an unknown class. */
  async recursiveReadOnly(pod: Pod): Promise<boolean> {
    const name = pod.spec.runtimeClassName ?? '';
    if (!this.#handlers.has(name)) this.#handlers.set(name, await this.#deps.handlerOf(name));
    return this.knownRecursiveReadOnly(pod);
  }

  /** The same from what is known already: true only once the class of the pod was looked up. */
  knownRecursiveReadOnly(pod: Pod): boolean {
    if (!this.#deps.recursiveReadOnlyMounts) return false;
    const handler = this.#handlers.get(pod.spec.runtimeClassName ?? '');
    return this.#deps.handlers().some(({ name, features }) => name === handler && features?.recursiveReadOnlyMounts === true);
  }
}
