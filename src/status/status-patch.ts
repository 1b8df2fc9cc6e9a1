import { isDeepStrictEqual } from 'node:util';
import type { PodStatus } from '../api/types.ts';

/** Lists that the API server merges by a key; every other list is replaced as a whole. */
const mergeKeys: Readonly<Record<string, string>> = { conditions: 'type', podIPs: 'ip', hostIPs: 'ip', resourceClaimStatuses: 'name' };

type Json = Record<string, unknown>;

/**
 * The strategic merge patch that turns `from` into `to`, undefined when there is nothing to change. Only what differs is
 * named, so that a patch never undoes what somebody else wrote meanwhile.
 */
export function statusPatch(from: PodStatus, to: PodStatus): Json | undefined {
  const patch: Json = {};
  const a = from as Json;
  const b = to as Json;
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    if (isDeepStrictEqual(a[key], b[key])) continue;
    const mergeKey = Object.hasOwn(mergeKeys, key) ? mergeKeys[key] : undefined;
    if (mergeKey !== undefined && b[key] !== undefined) patch[key] = listPatch(a[key], b[key], mergeKey);
    else patch[key] = isMap(a[key]) && isMap(b[key]) ? mapPatch(a[key], b[key]) : (b[key] ?? null);
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function listPatch(from: unknown, to: unknown, key: string): unknown[] {
  const old = new Map(rows(from).map((row) => [row[key], row]));
  const items: Json[] = [];
  for (const row of rows(to)) {
    const before = old.get(row[key]);
    if (!isDeepStrictEqual(before, row)) items.push(before === undefined ? row : { ...removed(before, row), ...row });
    old.delete(row[key]);
  }
  for (const gone of old.keys()) items.push({ $patch: 'delete', [key]: gone });
  return items;
}

/** Fields of an element that are no longer there: a merge keeps what it is not told to drop. */
function removed(before: Json, after: Json): Json {
  return Object.fromEntries(
    Object.keys(before)
      .filter((k) => !Object.hasOwn(after, k))
      .map((k) => [k, null]),
  );
}

/** What a merge does not name in a map it keeps: what is gone is named with null, at every depth. */
function mapPatch(from: Json, to: Json): Json {
  const patch: Json = {};
  for (const key of new Set([...Object.keys(from), ...Object.keys(to)])) {
    const [before, after] = [from[key], to[key]];
    if (isDeepStrictEqual(before, after)) continue;
    patch[key] = isMap(before) && isMap(after) ? mapPatch(before, after) : (after ?? null);
  }
  return patch;
}

const isMap = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

const rows = (list: unknown): Json[] => (Array.isArray(list) ? (list as Json[]) : []);
