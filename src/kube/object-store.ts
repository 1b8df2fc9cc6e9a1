import type { KubeObject } from './api.ts';

/** What happened to one object, in order. */
export type Change<T> =
  | { type: 'added'; object: T }
  | { type: 'updated'; object: T; old: T }
  /** `object` is the last known form. `missed`: nobody told of the deletion, a list no longer holds the object. */
  | { type: 'deleted'; object: T; missed: boolean };

/** `namespace/name`, or the name alone for what has no namespace. */
export function keyOf({ metadata: { namespace, name } }: KubeObject): string {
  return namespace ? `${namespace}/${name}` : name;
}

/**
 * The objects of one list, one copy of each, by key. It tells what is new and nothing twice: an object of the same
 * resource version is the same; another UID under the same name is another object.
 */
export class ObjectStore<T extends KubeObject> {
  #objects = new Map<string, T>();

  get objects(): ReadonlyMap<string, T> {
    return this.#objects;
  }

  /** An object was added or modified, says a watch. */
  upsert(object: T): Change<T>[] {
    const old = this.#objects.get(keyOf(object));
    if (old && old.metadata.uid === object.metadata.uid && notNewer(object, old)) return [];
    return this.#put(object);
  }

  /** An object was deleted, says a watch, with its last form. */
  remove(object: T): Change<T>[] {
    const key = keyOf(object);
    const old = this.#objects.get(key);
    // Told before, or of one that a newer of the same name has replaced.
    if (!old || old.metadata.uid !== object.metadata.uid) return [];
    this.#objects.delete(key);
    return [{ type: 'deleted', object, missed: false }];
  }

  /** All there is, says a list. */
  replace(objects: Iterable<T>): Change<T>[] {
    const changes: Change<T>[] = [];
    const kept = new Set<string>();
    for (const object of objects) {
      const key = keyOf(object);
      kept.add(key);
      const old = this.#objects.get(key);
      // Any difference counts, also backwards: a restored database starts from an older version.
      if (old && old.metadata.uid === object.metadata.uid && old.metadata.resourceVersion === object.metadata.resourceVersion) continue;
      changes.push(...this.#put(object));
    }
    for (const [key, object] of this.#objects) {
      if (kept.has(key)) continue;
      this.#objects.delete(key);
      changes.push({ type: 'deleted', object, missed: true });
    }
    return changes;
  }

  #put(object: T): Change<T>[] {
    const key = keyOf(object);
    const old = this.#objects.get(key);
    this.#objects.set(key, object);
    if (!old) return [{ type: 'added', object }];
    if (old.metadata.uid === object.metadata.uid) return [{ type: 'updated', object, old }];
    return [
      { type: 'deleted', object: old, missed: true },
      { type: 'added', object },
    ];
  }
}

/** Resource versions are decimal numbers that grow (KEP-5504); where they are not, only equality counts. */
function notNewer(a: KubeObject, b: KubeObject): boolean {
  const x = a.metadata.resourceVersion;
  const y = b.metadata.resourceVersion;
  if (x === undefined || y === undefined) return false;
  if (x === y) return true;
  if (!/^[1-9]\d*$/.test(x) || !/^[1-9]\d*$/.test(y)) return false;
  return x.length === y.length ? x < y : x.length < y.length;
}
