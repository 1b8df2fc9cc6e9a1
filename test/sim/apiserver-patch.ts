/** JSON of the API. */
export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json;
}

/** Lists that a strategic merge patch merges by key; every other list is replaced. Source: patchMergeKey of the public API types. */
const mergeKeys: ReadonlyMap<string, string> = new Map([
  ['conditions', 'type'],
  ['addresses', 'type'],
  ['podIPs', 'ip'],
  ['hostIPs', 'ip'],
  ['containers', 'name'],
  ['initContainers', 'name'],
  ['volumes', 'name'],
  ['env', 'name'],
  ['ownerReferences', 'uid'],
]);

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** RFC 7386. */
export function jsonMergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const result: JsonObject = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = jsonMergePatch(result[key], value);
  }
  return result;
}

/** Kubernetes' strategic merge patch, as far as a node agent uses it; throws for a directive that is not known here. */
export function strategicMergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  if (patch['$patch'] === 'replace') return without(patch, '$patch');
  const result: JsonObject = isObject(target) ? { ...target } : {};
  const order = new Map<string, Json[]>();
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith('$setElementOrder/')) {
      order.set(key.slice('$setElementOrder/'.length), Array.isArray(value) ? value : []);
    } else if (key.startsWith('$')) {
      throw new Error(`the simulated server does not know the directive ${key}`);
    } else if (value === null) delete result[key];
    else if (Array.isArray(value) && mergeKeys.has(key)) result[key] = mergeList(result[key], value, mergeKeys.get(key) as string);
    else result[key] = isObject(value) ? strategicMergePatch(result[key], value) : value;
  }
  for (const [key, wanted] of order) {
    const by = mergeKeys.get(key);
    const list = result[key];
    if (by === undefined || !Array.isArray(list)) continue;
    const place = new Map(wanted.map((item, i) => [isObject(item) ? item[by] : item, i]));
    result[key] = list.toSorted((a, b) => (place.get(keyIn(a, by)) ?? Infinity) - (place.get(keyIn(b, by)) ?? Infinity));
  }
  return result;
}

function mergeList(target: Json | undefined, patch: Json[], by: string): Json[] {
  const replaces = (item: Json) => isObject(item) && item['$patch'] === 'replace';
  if (patch.some(replaces)) return patch.filter((item) => !replaces(item));
  const result = Array.isArray(target) ? [...target] : [];
  for (const item of patch) {
    const at = result.findIndex((old) => keyIn(old, by) === keyIn(item, by));
    if (isObject(item) && item['$patch'] === 'delete') {
      if (at >= 0) result.splice(at, 1);
    } else if (at < 0) result.push(item);
    else result[at] = strategicMergePatch(result[at], item);
  }
  return result;
}

function keyIn(item: Json, by: string): Json | undefined {
  return isObject(item) ? item[by] : undefined;
}

function without(object: JsonObject, key: string): JsonObject {
  const { [key]: _dropped, ...rest } = object;
  return rest;
}
