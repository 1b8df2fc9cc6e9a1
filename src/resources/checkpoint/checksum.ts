import { fnv1aHash32 } from '../../compat/fnv.ts';
import { compareGoStrings } from '../../compat/go-text.ts';

/**
 * Checksums of the resource managers' checkpoint files: FNV-1a, 32 bit, over Go's value dump (see compat/go-dump.ts for its form). The dump of
 * these few structs is put together here from their fields. Source: contract node.md §5, vectors cpu-manager-state.
 */

/** Of a plain text, as `dataChecksum` is. */
export function textChecksum(text: string): number {
  return fnv1aHash32(`(string)${text}`);
}

/** Of a whole struct by its dump, as `checksum` is. */
export function dumpChecksum(dump: string): number {
  return fnv1aHash32(dump);
}

/** `{Name:(type)value …}`: a struct by its fields, whose values are dumped already. */
export function dumpStruct(fields: readonly (readonly [name: string, type: string, value: string])[]): string {
  return `{${fields.map(([name, type, value]) => `${name}:(${type})${value}`).join(' ')}}`;
}

/** `map[key:value …]`, sorted by key. */
export function dumpMap<T>(entries: Iterable<readonly [string, T]>, value: (item: T) => string): string {
  const sorted = [...entries].sort(([a], [b]) => compareGoStrings(a, b));
  return `map[${sorted.map(([key, item]) => `${key}:${value(item)}`).join(' ')}]`;
}
