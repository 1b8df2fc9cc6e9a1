import type { KubeApi, KubeObject } from '../kube/api.ts';
import { unlessNotFound } from '../kube/errors.ts';
import type { ObjectKind } from './object-kind.ts';
import type { ObjectSource } from './object-source.ts';

/** For one request, its waits for a turn included. */
const RequestMs = 30_000;

/** Asks at every read (strategy Get). */
export class DirectObjects<T extends KubeObject> implements ObjectSource<T> {
  readonly #api: KubeApi;
  readonly #kind: Pick<ObjectKind<T, unknown>, 'get'>;

  constructor(api: KubeApi, kind: Pick<ObjectKind<T, unknown>, 'get'>) {
    this.#api = api;
    this.#kind = kind;
  }

  acquire(): void {}

  release(): void {}

  read(namespace: string, name: string): Promise<T | undefined> {
    return unlessNotFound(this.#kind.get(this.#api, namespace, name, { timeoutMs: RequestMs }));
  }

  sweep(): void {}

  stop(): Promise<void> {
    return Promise.resolve();
  }
}
