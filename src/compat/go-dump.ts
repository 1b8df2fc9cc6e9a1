import { dumpQuantity, goQuantity, roundUpToMilli, zeroGoQuantity } from './go-quantity.ts';
import { type GoField, type GoStruct, type GoType, podType } from './go-schema.ts';
import { compareGoStrings } from './go-text.ts';
import { dumpTime } from './go-time.ts';

/**
 * Go's value dump (spew, `%#v`, sorted keys, no addresses) of the internal Pod, which the UID of a static pod hashes.
 * The input is a pod in JSON form after API defaulting, where a missing key is Go's nil or zero, and an empty list or
 * map is an empty, non-nil one; free JSON (fieldsV1) is its text. Source: vectors static-pod (`hashedText`).
 */
export function dumpPod(pod: object): string {
  const parts: string[] = ['(*core.Pod)'];
  dumpStruct(pod, podType, parts);
  return parts.join('');
}

/** Resource lists are the quantities that API defaulting rounds up to thousandths. */
const RESOURCE_LIST = 'core.ResourceList';

function property(value: object, key: string): unknown {
  return Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
}

function dumpStruct(value: object, type: GoStruct, parts: string[]): void {
  parts.push('{');
  type.fields.forEach((field, i) => {
    if (i > 0) parts.push(' ');
    parts.push(field.go, ':(', field.type.text, ')');
    dumpField(value, field, type, parts);
  });
  parts.push('}');
}

function dumpField(value: object, field: GoField, holder: GoStruct, parts: string[]): void {
  // Kind and apiVersion are cleared in the internal form.
  if (holder.text === 'v1.TypeMeta') return;
  if (field.json === undefined) dumpEmbedded(value, field.type, parts);
  else dumpValue(property(value, field.json), field.type, parts, false);
}

function dumpEmbedded(holder: object, type: GoType, parts: string[]): void {
  if (type.kind === 'struct') dumpStruct(holder, type, parts);
}

/** Prints one value without its type. Lists and maps print no type for their elements. */
function dumpValue(value: unknown, type: GoType, parts: string[], toMilli: boolean): void {
  const isSet = value !== undefined && value !== null;
  switch (type.kind) {
    case 'string':
      parts.push(isSet ? String(value) : '');
      return;
    case 'bool':
      parts.push(value === true ? 'true' : 'false');
      return;
    case 'int':
      parts.push(isSet ? String(value) : '0');
      return;
    case 'quantity': {
      const quantity = isSet ? goQuantity(String(value)) : zeroGoQuantity;
      parts.push(dumpQuantity(toMilli ? roundUpToMilli(quantity) : quantity));
      return;
    }
    case 'time':
      parts.push(dumpTime(isSet ? String(value) : undefined));
      return;
    case 'intOrString':
      parts.push(dumpIntOrString(value));
      return;
    case 'json':
      parts.push(`{Raw:([]uint8)[${[...Buffer.from(String(value ?? ''))].join(' ')}]}`);
      return;
    case 'pointer':
      if (isSet) dumpValue(value, type.elem, parts, false);
      else parts.push('<nil>');
      return;
    case 'slice':
      dumpSlice(value, type.elem, parts);
      return;
    case 'map':
      dumpMap(value, type.elem, parts, type.text === RESOURCE_LIST);
      return;
    case 'struct':
      dumpStruct(typeof value === 'object' && value !== null ? value : {}, type, parts);
  }
}

function dumpIntOrString(value: unknown): string {
  const isText = typeof value === 'string';
  return `{Type:(intstr.Type)${isText ? 1 : 0} IntVal:(int32)${isText ? 0 : String(value ?? 0)} StrVal:(string)${isText ? value : ''}}`;
}

function dumpSlice(value: unknown, elem: GoType, parts: string[]): void {
  if (!Array.isArray(value)) {
    parts.push('<nil>');
    return;
  }
  parts.push('[');
  value.forEach((item, i) => {
    if (i > 0) parts.push(' ');
    dumpValue(item, elem, parts, false);
  });
  parts.push(']');
}

function dumpMap(value: unknown, elem: GoType, parts: string[], toMilli: boolean): void {
  if (typeof value !== 'object' || value === null) {
    parts.push('<nil>');
    return;
  }
  const entries = Object.entries(value).sort(([a], [b]) => compareGoStrings(a, b));
  parts.push('map[');
  entries.forEach(([key, item], i) => {
    if (i > 0) parts.push(' ');
    parts.push(key, ':');
    dumpValue(item, elem, parts, toMilli);
  });
  parts.push(']');
}
