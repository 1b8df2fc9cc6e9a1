import type { Pod } from '../api/types.ts';
import type { ManifestError } from './manifest-error.ts';

/** What a manifest source holds at the moment: for a command or a page that shows the bad ones with their errors. */
export interface ManifestListing {
  source: 'file' | 'http';
  /** The configured path or URL. */
  location: string;
  pods: readonly Pod[];
  errors: readonly ManifestError[];
}

/** A source that can be asked what it holds. */
export interface ListsManifests {
  listing(): ManifestListing;
}
