/** A JSON object of ours: without a prototype, so that no key of a file can be mistaken for a method. */
export type JsonObject = { [key: string]: unknown };

export function newObject(): JsonObject {
  return Object.create(null) as JsonObject;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A deep copy in which every object is without a prototype. */
export function cloneJson<T>(value: T): T {
  if (Array.isArray(value)) return value.map(cloneJson) as T;
  if (!isObject(value)) return value;
  const copy = newObject();
  for (const [key, v] of Object.entries(value)) copy[key] = cloneJson(v);
  return copy as T;
}

/** The value at a path of dots, for fields of the table only (no map keys, no list items). */
export function getPath(object: JsonObject, path: string): unknown {
  let at: unknown = object;
  for (const name of path.split('.')) {
    if (!isObject(at)) return undefined;
    at = at[name];
  }
  return at;
}

/** Sets, or deletes when `value` is undefined; creates the objects on the way. */
export function setPath(object: JsonObject, path: string, value: unknown): void {
  const names = path.split('.');
  const last = names.pop() ?? '';
  let at = object;
  for (const name of names) {
    const next = at[name];
    if (isObject(next)) at = next;
    else {
      const created = newObject();
      at[name] = created;
      at = created;
    }
  }
  if (value === undefined) delete at[last];
  else at[last] = value;
}
