import { cloneJson, isObject, type JsonObject, newObject } from './json-object.ts';

/** A new object: `patch` merged onto `target` by RFC 7386. Null deletes, objects merge, all else is replaced whole. */
export function mergePatch(target: JsonObject, patch: JsonObject): JsonObject {
  const out = cloneJson(target);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete out[key];
    else if (isObject(value)) {
      const current = out[key];
      out[key] = mergePatch(isObject(current) ? current : newObject(), value);
    } else out[key] = cloneJson(value);
  }
  return out;
}
