import type { Pod } from '../api/types.ts';
import type { ManifestError } from './manifest-error.ts';

/** Everything a source has at one time: the pods it offers, and what it could not use. */
export interface PodSet {
  pods: Pod[];
  errors: ManifestError[];
}

/** Where pods come from. */
export interface PodSource {
  readonly name: 'file' | 'http' | 'api';
  /**
   * The full set each time that something changed; the first one as soon as it has been listed, also when it is empty.
   * Ends when `signal` aborts. One reader at a time.
   */
  sets(signal: AbortSignal): AsyncIterable<PodSet>;
}
