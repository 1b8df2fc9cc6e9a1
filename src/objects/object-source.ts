import type { KubeObject } from '../kube/api.ts';

/**
 * A way to know the newest form of single objects. `acquire` and `release` count who may read an object; a `read` of
 * one that nobody has acquired rejects.
 */
export interface ObjectSource<T extends KubeObject> {
  acquire(namespace: string, name: string): void;
  release(namespace: string, name: string): void;
  /** Undefined: there is no such object. Rejects when that cannot be known. */
  read(namespace: string, name: string): Promise<T | undefined>;
  /** Lets go of what nobody has read for long. To be called about once a minute. */
  sweep(): void;
  /** Ends what goes on in the background. */
  stop(): Promise<void>;
}

export const keyOfObject = (namespace: string, name: string) => `${namespace}/${name}`;

/** Only a pod that is registered may read: the error of a read by any other. */
export function notRegistered(namespace: string, name: string): Error {
  return new Error(`object ${JSON.stringify(namespace)}/${JSON.stringify(name)} not registered`);
}
