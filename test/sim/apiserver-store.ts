import { isObject, type Json, type JsonObject } from './apiserver-patch.ts';

export type StoredObject = JsonObject & { metadata: JsonObject };

/** One write, as watchers see it. */
export interface StoreEvent {
  version: number;
  /** Undefined: the object did not exist before. */
  before: StoredObject | undefined;
  /** Undefined: it is gone. `last` is then its last form. */
  after: StoredObject | undefined;
  last: StoredObject;
}

/** The objects of one kind, with the writes that watchers may still ask for. */
export class Collection {
  readonly objects = new Map<string, StoredObject>();
  /** Oldest first. */
  readonly log: StoreEvent[] = [];
  /** Watches from below this version are too old. */
  oldest = 0;
}

/** The database and the watch cache: one counter of versions, collections by path (`/api/v1/pods`). */
export class SimStore {
  version = 1000;
  readonly #collections = new Map<string, Collection>();
  readonly #window: number;
  readonly #written: (path: string, event: StoreEvent) => void;

  /** `window`: writes of each collection that can be watched from. */
  constructor(window: number, written: (path: string, event: StoreEvent) => void) {
    this.#window = window;
    this.#written = written;
  }

  collection(path: string): Collection {
    let found = this.#collections.get(path);
    if (!found) {
      found = new Collection();
      found.oldest = this.version;
      this.#collections.set(path, found);
    }
    return found;
  }

  get(path: string, key: string): StoredObject | undefined {
    return this.collection(path).objects.get(key);
  }

  /** Creates or replaces; the result is a copy with its new version. */
  put(path: string, key: string, object: StoredObject): StoredObject {
    const after = structuredClone(object);
    after.metadata['resourceVersion'] = String(++this.version);
    const collection = this.collection(path);
    const before = collection.objects.get(key);
    collection.objects.set(key, after);
    this.#log(path, collection, { version: this.version, before, after, last: after });
    return after;
  }

  remove(path: string, key: string): StoredObject | undefined {
    const collection = this.collection(path);
    const before = collection.objects.get(key);
    if (!before) return undefined;
    collection.objects.delete(key);
    const last = structuredClone(before);
    last.metadata['resourceVersion'] = String(++this.version);
    this.#log(path, collection, { version: this.version, before, after: undefined, last });
    return last;
  }

  /** Forgets the writes so far: nobody can go on from an older version than now. */
  loseCache(): void {
    for (const collection of this.#collections.values()) {
      collection.log.length = 0;
      collection.oldest = this.version;
    }
  }

  /** All objects and the version, to go back to. */
  backup(): { version: number; collections: Map<string, Map<string, StoredObject>> } {
    return {
      version: this.version,
      collections: new Map([...this.#collections].map(([path, c]) => [path, structuredClone(c.objects)])),
    };
  }

  /** The database as it was. Watchers are told nothing, as after a restore. */
  restore(backup: ReturnType<SimStore['backup']>): void {
    this.version = backup.version;
    for (const [path, collection] of this.#collections) {
      collection.objects.clear();
      for (const [key, object] of backup.collections.get(path) ?? []) collection.objects.set(key, structuredClone(object));
    }
    this.loseCache();
  }

  #log(path: string, collection: Collection, event: StoreEvent): void {
    collection.log.push(event);
    if (collection.log.length > this.#window) collection.oldest = (collection.log.shift() as StoreEvent).version;
    this.#written(path, event);
  }
}

/** Tells whether an object is asked for. Knows `=`, `==` and `!=` of fields and labels, and namespaces. */
export function selector(namespace: string | undefined, fields: string, labels: string): (object: StoredObject) => boolean {
  const wanted = [...terms(fields, (o, name) => at(o, name)), ...terms(labels, (o, name) => label(o, name))];
  return (object) => (namespace === undefined || object.metadata['namespace'] === namespace) && wanted.every((matches) => matches(object));
}

function terms(text: string, read: (object: StoredObject, name: string) => string): ((object: StoredObject) => boolean)[] {
  return text
    .split(',')
    .filter((t) => t !== '')
    .map((term) => {
      const [, name = '', operator = '', value = ''] = /^([^=!]+)(==|=|!=)(.*)$/.exec(term) ?? [];
      return (object) => (read(object, name) === value) === (operator !== '!=');
    });
}

function at(object: JsonObject, path: string): string {
  let value: Json | undefined = object;
  for (const key of path.split('.')) value = isObject(value) ? value[key] : undefined;
  return typeof value === 'string' ? value : '';
}

function label(object: StoredObject, name: string): string {
  const labels = object.metadata['labels'];
  const value = isObject(labels) ? labels[name] : undefined;
  return typeof value === 'string' ? value : '';
}
