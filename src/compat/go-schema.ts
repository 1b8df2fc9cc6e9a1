import { namedTypes, stringTypes, structTypes } from './pod-schema.ts';

/** A Go type as the printed form and the reading of JSON need it. `text` is the type as Go prints it. */
export type GoType =
  | { readonly kind: 'string' | 'bool' | 'quantity' | 'time' | 'intOrString' | 'json'; readonly text: string }
  | { readonly kind: 'int'; readonly text: string; readonly min: bigint; readonly max: bigint }
  | { readonly kind: 'pointer' | 'slice' | 'map'; readonly text: string; readonly elem: GoType }
  | GoStruct;

export interface GoStruct {
  readonly kind: 'struct';
  readonly text: string;
  readonly fields: readonly GoField[];
  /** Every JSON key of the object, those of embedded structs included. */
  readonly byJson: ReadonlyMap<string, GoField>;
}

export interface GoField {
  readonly go: string;
  /** Undefined for an embedded struct: its keys are the holder's own. */
  readonly json: string | undefined;
  readonly type: GoType;
  /** JSON shows it even when it is empty. */
  readonly always: boolean;
  /** JSON drops it when it is the zero time; without this a zero time shows as null. */
  readonly omitZero: boolean;
}

const LEAVES: Readonly<Record<string, GoType>> = {
  string: { kind: 'string', text: 'string' },
  bool: { kind: 'bool', text: 'bool' },
  int32: { kind: 'int', text: 'int32', min: -(2n ** 31n), max: 2n ** 31n - 1n },
  int64: { kind: 'int', text: 'int64', min: -(2n ** 63n), max: 2n ** 63n - 1n },
  'resource.Quantity': { kind: 'quantity', text: 'resource.Quantity' },
  'v1.Time': { kind: 'time', text: 'v1.Time' },
  'intstr.IntOrString': { kind: 'intOrString', text: 'intstr.IntOrString' },
  'v1.FieldsV1': { kind: 'json', text: 'v1.FieldsV1' },
};

const known = new Map<string, GoType>(Object.entries(LEAVES));
for (const text of stringTypes) known.set(text, { kind: 'string', text });

/** The type that Go writes as `text`. Throws on one that the table does not hold: that is a fault of the table. */
export function goType(text: string): GoType {
  const found = known.get(text);
  if (found) return found;
  const made = makeType(text);
  known.set(text, made);
  return made;
}

function makeType(text: string): GoType {
  if (text.startsWith('*')) return { kind: 'pointer', text, elem: goType(text.slice(1)) };
  if (text.startsWith('[]')) return { kind: 'slice', text, elem: goType(text.slice(2)) };
  const map = /^map\[[\w.]+\](.+)$/.exec(text);
  if (map?.[1] !== undefined) return { kind: 'map', text, elem: goType(map[1]) };
  const named = namedTypes[text];
  if (named !== undefined) return { ...goType(named), text };
  const rows = structTypes[text];
  if (!rows) throw new Error(`the pod schema has no type ${text}`);
  return makeStruct(text, rows);
}

function makeStruct(text: string, rows: readonly string[]): GoStruct {
  const fields = rows.map(makeField);
  const byJson = new Map<string, GoField>();
  for (const field of fields) {
    if (field.json !== undefined) byJson.set(field.json, field);
    else if (field.type.kind === 'struct') for (const [key, inner] of field.type.byJson) byJson.set(key, inner);
  }
  return { kind: 'struct', text, fields, byJson };
}

function makeField(row: string): GoField {
  const [go = '', json = '-', type = '', flag] = row.split(' ');
  return { go, json: json === '-' ? undefined : json, type: goType(type), always: flag === '!', omitZero: flag === '0' };
}

/** The struct of a whole pod. */
export const podType: GoStruct = (() => {
  const type = goType('core.Pod');
  if (type.kind !== 'struct') throw new Error('core.Pod is no struct');
  return type;
})();
