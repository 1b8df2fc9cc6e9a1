import { compareGoStrings, goJsonString } from './go-text.ts';

/** Go's encoding/json text of a JSON value, map keys sorted. */
export function goJson(value: unknown): string {
  if (typeof value === 'string') return goJsonString(value);
  if (typeof value === 'bigint') return value.toString();
  if (Array.isArray(value)) return `[${value.map(goJson).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).sort(([a], [b]) => compareGoStrings(a, b));
    return `{${entries.map(([key, inner]) => `${goJsonString(key)}:${goJson(inner)}`).join(',')}}`;
  }
  return JSON.stringify(value) ?? 'null';
}
