import type { Pod } from '../api/types.ts';
import type { AuthConfig } from '../cri/types.ts';

/** Finds the credentials for an image, in the order in which they are to be tried. None: the pull is anonymous. */
export interface Keyring {
  lookup(image: string, pod: Pod): AuthConfig[] | Promise<AuthConfig[]>;
}

export const emptyKeyring: Keyring = { lookup: () => [] };
