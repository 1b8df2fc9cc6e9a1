import { ConfigSeenAnnotation, ConfigSourceAnnotation } from '../api/annotations.ts';
import { formatRfc3339Nano } from '../api/time.ts';
import type { Pod } from '../api/types.ts';
import type { Clock } from '../host/clock.ts';

/** Marks pods with the source they came from and the time when their UID was first seen there. */
export class SeenPods {
  readonly #source: 'file' | 'http';
  readonly #clock: Pick<Clock, 'now'>;
  readonly #seen = new Map<string, string>();

  constructor(source: 'file' | 'http', clock: Pick<Clock, 'now'>) {
    this.#source = source;
    this.#clock = clock;
  }

  /** Sets both annotations, in place. */
  mark(pod: Pod): void {
    const { uid } = pod.metadata;
    const seen = this.#seen.get(uid) ?? formatRfc3339Nano(BigInt(Math.round(this.#clock.now() * 1e6)));
    this.#seen.set(uid, seen);
    const added = { [ConfigSourceAnnotation]: this.#source, [ConfigSeenAnnotation]: seen };
    pod.metadata.annotations = Object.assign(Object.create(null), pod.metadata.annotations, added);
  }

  /** Forgets every UID that is not among `pods`. */
  keep(pods: readonly Pod[]): void {
    const uids = new Set(pods.map((pod) => pod.metadata.uid));
    for (const uid of this.#seen.keys()) if (!uids.has(uid)) this.#seen.delete(uid);
  }
}
