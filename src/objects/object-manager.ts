import { dnsSubdomainFaults } from '../api/names.ts';
import type { Pod } from '../api/types.ts';
import type { KubeObject } from '../kube/api.ts';
import type { ObjectKind } from './object-kind.ts';
import type { ObjectSource } from './object-source.ts';

/** The objects of one kind that registered pods refer to. Each form of an object is decoded once, when it is first read. */
export class ObjectManager<T extends KubeObject & { immutable?: boolean }, V> {
  readonly #kind: Pick<ObjectKind<T, V>, 'decode' | 'references'>;
  readonly #source: ObjectSource<T>;
  readonly #pods = new Map<string, { namespace: string; names: ReadonlySet<string> }>();
  readonly #decoded = new WeakMap<T, V>();

  constructor(kind: Pick<ObjectKind<T, V>, 'decode' | 'references'>, source: ObjectSource<T>) {
    this.#kind = kind;
    this.#source = source;
  }

  /** To be called before a pod reads, and again with each new form of it: a pod may get ephemeral containers. */
  register(pod: Pod): void {
    const { uid, namespace } = pod.metadata;
    const names = new Set([...this.#kind.references(pod)].filter(isObjectName));
    const before = this.#pods.get(uid)?.names ?? new Set<string>();
    for (const name of names) if (!before.has(name)) this.#source.acquire(namespace, name);
    for (const name of before) if (!names.has(name)) this.#source.release(namespace, name);
    if (names.size > 0) this.#pods.set(uid, { namespace, names });
    else this.#pods.delete(uid);
  }

  /** The pod reads no more. */
  unregister(uid: string): void {
    const { namespace, names } = this.#pods.get(uid) ?? { namespace: '', names: [] };
    this.#pods.delete(uid);
    for (const name of names) this.#source.release(namespace, name);
  }

  /** UIDs of the registered pods that refer to an object. */
  referrers(namespace: string, name: string): string[] {
    return [...this.#pods].filter(([, pod]) => pod.namespace === namespace && pod.names.has(name)).map(([uid]) => uid);
  }

  /** Undefined: there is no such object. Rejects when that cannot be known, or no registered pod refers to it. */
  async get(namespace: string, name: string): Promise<V | undefined> {
    if (!isObjectName(name)) return undefined;
    const object = await this.#source.read(namespace, name);
    if (object === undefined) return undefined;
    let value = this.#decoded.get(object);
    if (value === undefined) {
      value = this.#kind.decode(object);
      this.#decoded.set(object, value);
    }
    return value;
  }

  sweep(): void {
    this.#source.sweep();
  }

  stop(): Promise<void> {
    return this.#source.stop();
  }
}

/** References are not all checked by the API server, and a name becomes part of a selector: only what can exist is looked for. */
function isObjectName(name: string): boolean {
  return dnsSubdomainFaults(name).length === 0;
}
