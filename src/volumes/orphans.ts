import type { Clock } from '../host/clock.ts';
import { within } from '../host/within.ts';
import type { Logger } from '../observe/log.ts';
import { textOf } from './volume-error.ts';

export interface OrphanVolumesDeps {
  clock: Pick<Clock, 'after'>;
  log: Logger;
  /** Longest that one pod is waited for, milliseconds. */
  waitMs: number;
  /** Joins what is under way already. */
  tearDown(uid: string): Promise<void>;
}

/**
 * Takes down volumes of pods that nobody knows, which a crash or another agent left. What cannot go is told once for each new
 * cause, as the sweeps come every two seconds. Messages: the real kubelet's.
 */
export class OrphanVolumes {
  readonly #deps: OrphanVolumesDeps;
  readonly #told = new Map<string, string>();

  constructor(deps: OrphanVolumesDeps) {
    this.#deps = deps;
  }

  async release(uids: readonly string[]): Promise<void> {
    const { log } = this.#deps;
    const present = new Set(uids);
    for (const uid of this.#told.keys()) if (!present.has(uid)) this.#told.delete(uid);
    const errors: Error[] = [];
    for (const uid of uids) {
      const fault = await this.#release(uid);
      if (fault === undefined) {
        this.#told.delete(uid);
        log.info('Cleaned up orphaned pod volumes', { podUID: uid });
      } else if (this.#told.get(uid) !== fault) {
        this.#told.set(uid, fault);
        log.debug(3, 'Orphaned pod found, but volumes are not cleaned up', { podUID: uid });
        errors.push(new Error(`orphaned pod ${JSON.stringify(uid)} found, but failed to clean up its volumes: ${fault}`));
      }
    }
    if (errors.length > 0) {
      log.error(errors[0], 'There were many similar errors. Turn up verbosity to see them.', { numErrs: errors.length });
    }
  }

  /** What is in the way. */
  async #release(uid: string): Promise<string | undefined> {
    const { clock, waitMs, tearDown } = this.#deps;
    try {
      return (await within(clock, tearDown(uid), waitMs)) ? undefined : 'it is still under way';
    } catch (err) {
      return textOf(err);
    }
  }
}
