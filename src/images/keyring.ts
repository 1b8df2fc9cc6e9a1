import type { Pod } from '../api/types.ts';
import type { Credential } from './credential-index.ts';

/** Finds the credentials for an image, in the order in which they are to be tried. None: the pull is anonymous. */
export interface Keyring {
  credentials(image: string, pod: Pod): Credential[] | Promise<Credential[]>;
  /** Names of the pod's pull secrets that could not be read: told when a pull has failed. */
  missingSecrets?(pod: Pod): Promise<readonly string[]>;
}

export const emptyKeyring: Keyring = { credentials: () => [] };
