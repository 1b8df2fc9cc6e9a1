import { parseTime, timeToJson } from '../api/time.ts';
import type { Pod } from '../api/types.ts';
import { canonicalQuantity } from './go-quantity.ts';
import { type GoField, type GoStruct, type GoType, podType } from './go-schema.ts';

/**
 * A pod in JSON form as Go writes it back: keys that hold nothing are dropped (those that Go always shows are filled
 * in), quantities are in canonical form, times in UTC, 64-bit numbers as JavaScript numbers. Kind and apiVersion are
 * left out, as inside the kubelet. Maps have no prototype.
 */
export function canonicalPod(pod: object): Pod {
  const { kind: _kind, apiVersion: _apiVersion, ...rest } = canonicalStruct(pod, podType);
  return rest as unknown as Pod;
}

function canonicalStruct(value: object, type: GoStruct): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [key, field] of type.byJson) {
    const inner = Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
    const written = canonicalValue(inner ?? undefined, field.type, false);
    if (field.always || !isEmpty(inner, written, field)) out[key] = written;
  }
  return out;
}

/** What Go's `omitempty` drops. A struct and a set pointer are never empty; creationTimestamp is dropped when zero. */
function isEmpty(given: unknown, written: unknown, { type, omitZero }: GoField): boolean {
  switch (type.kind) {
    case 'string':
      return written === '';
    case 'bool':
      return written === false;
    case 'int':
      return written === 0;
    case 'slice':
      return !Array.isArray(written) || written.length === 0;
    case 'map':
      return typeof written !== 'object' || written === null || Object.keys(written).length === 0;
    case 'pointer':
      return given === undefined || given === null;
    case 'time':
      return omitZero && written === null;
    default:
      return false;
  }
}

function canonicalValue(value: unknown, type: GoType, toMilli: boolean): unknown {
  switch (type.kind) {
    case 'string':
      return value ?? '';
    case 'bool':
      return value ?? false;
    case 'int':
      return Number(value ?? 0);
    case 'quantity':
      return canonicalQuantity(String(value ?? '0'), toMilli);
    case 'time':
      return canonicalTime(value);
    case 'intOrString':
      return value ?? 0;
    case 'json':
      return typeof value === 'string' ? freeJson(value) : value;
    case 'pointer':
      return value === undefined ? null : canonicalValue(value, type.elem, false);
    case 'slice':
      return Array.isArray(value) ? value.map((item) => canonicalValue(item ?? undefined, type.elem, false)) : null;
    case 'map':
      return canonicalMap(value, type.elem, type.text === 'core.ResourceList');
    case 'struct':
      return canonicalStruct(typeof value === 'object' && value !== null ? value : {}, type);
  }
}

/** The text is JSON; where it is none, it was read before and is the value. */
function freeJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function canonicalTime(value: unknown): string | null {
  return typeof value === 'string' ? timeToJson(parseTime(value)) : null;
}

function canonicalMap(value: unknown, elem: GoType, toMilli: boolean): Record<string, unknown> | null {
  if (typeof value !== 'object' || value === null) return null;
  const out = Object.create(null) as Record<string, unknown>;
  for (const [key, item] of Object.entries(value)) out[key] = canonicalValue(item ?? undefined, elem, toMilli);
  return out;
}
