import { trimSpace } from '../api/go-space.ts';
import { QuantityError } from '../api/quantity.ts';
import { parseTime, TimeError } from '../api/time.ts';
import { goJson } from '../compat/go-json.ts';
import { goQuantity } from '../compat/go-quantity.ts';
import type { GoStruct, GoType } from '../compat/go-schema.ts';
import { compareGoStrings } from '../compat/go-text.ts';
import { ManifestError } from './manifest-error.ts';
import type { ManifestNode, ManifestTree, MapNode } from './manifest-node.ts';

/**
 * Reads a manifest's values into the shape of a Go type as Go's JSON decoder does: unknown fields are dropped, null
 * leaves a field unset, every other value must have the field's type. Maps have no prototype; quantities and times
 * stay text once they have been checked, free JSON is its text; integers beyond the safe range are bigint. Throws ManifestError `wrong-type`.
 */
export function decodeStruct(node: ManifestNode, type: GoStruct, file: string, json: ManifestTree['json']): Record<string, unknown> {
  return new Decoder(file, json).struct(node, type, '');
}

class Decoder {
  readonly #file: string;
  readonly #json: ManifestTree['json'];

  constructor(file: string, json: ManifestTree['json']) {
    this.#file = file;
    this.#json = json;
  }

  struct(node: ManifestNode, type: GoStruct, path: string): Record<string, unknown> {
    if (node.kind !== 'map') throw this.#wrong(node, path, 'an object');
    const out: Record<string, unknown> = {};
    for (const [key, { value }] of this.#ordered(node)) {
      const field = type.byJson.get(key);
      if (!field) continue;
      const decoded = this.#value(value, field.type, path === '' ? key : `${path}.${key}`);
      if (decoded !== undefined) out[key] = decoded;
    }
    return out;
  }

  /** Of several faults the first is told: Go sees YAML in the order of the keys, JSON in that of the text. */
  #ordered({ entries }: MapNode): Iterable<[string, { value: ManifestNode }]> {
    return this.#json === undefined ? [...entries].sort(([a], [b]) => compareGoStrings(a, b)) : entries;
  }

  #value(node: ManifestNode, type: GoType, path: string): unknown {
    if (node.kind === 'scalar' && node.value === null) return undefined;
    switch (type.kind) {
      case 'pointer':
        return this.#value(node, type.elem, path);
      case 'string':
        return this.#string(node, path);
      case 'bool':
        if (node.kind !== 'scalar' || typeof node.value !== 'boolean') throw this.#wrong(node, path, 'true or false');
        return node.value;
      case 'int':
        return this.#integer(node, type.min, type.max, path);
      case 'quantity':
        return this.#quantity(node, path);
      case 'time':
        return this.#time(node, path);
      case 'intOrString':
        if (node.kind === 'scalar' && typeof node.value === 'string') return node.value;
        return this.#integer(node, -(2n ** 31n), 2n ** 31n - 1n, path, 'a number or text');
      case 'json':
        return this.#jsonText(node);
      case 'slice':
        return this.#list(node, type.elem, path);
      case 'map':
        return this.#map(node, type.elem, path);
      case 'struct':
        return this.struct(node, type, path);
    }
  }

  #wrong(node: ManifestNode, path: string, want: string, got = describe(node)): ManifestError {
    const { line, column } = node;
    return new ManifestError({
      code: 'wrong-type',
      file: this.#file,
      line,
      column,
      field: path,
      problem: `want ${want}, not ${got}`,
      remedy: remedy(node, want),
    });
  }

  #string(node: ManifestNode, path: string): string {
    if (node.kind !== 'scalar' || typeof node.value !== 'string') throw this.#wrong(node, path, 'text');
    return node.value.toWellFormed();
  }

  #integer(node: ManifestNode, min: bigint, max: bigint, path: string, want = 'a whole number'): number | bigint {
    const value = node.kind === 'scalar' ? node.value : undefined;
    if (typeof value !== 'number' && typeof value !== 'bigint') throw this.#wrong(node, path, want);
    const digits = node.kind === 'scalar' ? node.digits : undefined;
    if (digits !== undefined && /[.eE]/.test(digits)) throw this.#wrong(node, path, want, digits.slice(0, 80));
    if (typeof value === 'number' && (!Number.isInteger(value) || Math.abs(value) >= 1e21))
      throw this.#wrong(node, path, want, String(value));
    if (value < min || value > max) throw this.#wrong(node, path, `${want} from ${min} to ${max}`, String(value));
    return value;
  }

  #quantity(node: ManifestNode, path: string): string {
    if (node.kind !== 'scalar' || typeof node.value === 'boolean') throw this.#wrong(node, path, 'a quantity');
    const text = trimSpace(node.digits ?? String(node.value));
    try {
      goQuantity(text);
    } catch (error) {
      if (!(error instanceof QuantityError)) throw error;
      throw this.#wrong(node, path, 'a quantity such as 250m, 1.5, 64Mi or 1e3', JSON.stringify(text.slice(0, 80)));
    }
    return text;
  }

  #time(node: ManifestNode, path: string): string {
    const want = 'a time such as 2006-01-02T15:04:05Z';
    if (node.kind !== 'scalar' || typeof node.value !== 'string') throw this.#wrong(node, path, want);
    try {
      parseTime(node.value);
    } catch (error) {
      if (!(error instanceof TimeError)) throw error;
      throw this.#wrong(node, path, want, JSON.stringify(node.value.slice(0, 80)));
    }
    return node.value;
  }

  /** As it was written, for a JSON text; else as Go writes it. */
  #jsonText(node: ManifestNode): string {
    if (node.kind === 'map' && node.span && this.#json !== undefined) return this.#json.slice(...node.span);
    return goJson(plainJson(node));
  }

  #list(node: ManifestNode, elem: GoType, path: string): unknown[] {
    if (node.kind !== 'list') throw this.#wrong(node, path, 'a list');
    return node.items.map((item, i) => this.#value(item, elem, `${path}[${i}]`) ?? zero(elem));
  }

  #map(node: ManifestNode, elem: GoType, path: string): Record<string, unknown> {
    if (node.kind !== 'map') throw this.#wrong(node, path, 'an object');
    const out = Object.create(null) as Record<string, unknown>;
    for (const [key, { value }] of this.#ordered(node)) out[key.toWellFormed()] = this.#value(value, elem, `${path}.${key}`) ?? zero(elem);
    return out;
  }
}

/** What Go puts into a list or a map for null. */
function zero(type: GoType): unknown {
  switch (type.kind) {
    case 'string':
      return '';
    case 'bool':
      return false;
    case 'int':
    case 'intOrString':
      return 0;
    case 'struct':
      return {};
    default:
      return undefined;
  }
}

function plainJson(node: ManifestNode): unknown {
  if (node.kind === 'scalar') return node.value;
  if (node.kind === 'list') return node.items.map(plainJson);
  const out = Object.create(null) as Record<string, unknown>;
  for (const [key, { value }] of node.entries) out[key] = plainJson(value);
  return out;
}

function describe(node: ManifestNode): string {
  if (node.kind === 'list') return 'a list';
  if (node.kind === 'map') return 'an object';
  if (node.value === null) return 'null';
  return typeof node.value === 'string'
    ? 'text'
    : typeof node.value === 'boolean'
      ? `the boolean ${node.value}`
      : `the number ${node.value}`;
}

/** The usual slip is about quotes. */
function remedy(node: ManifestNode, want: string): string | undefined {
  if (node.kind !== 'scalar' || node.value === null) return undefined;
  if (want === 'text')
    return typeof node.value === 'boolean' ? 'put it in quotes: unquoted y, n, yes, no, on, off are booleans' : 'put it in quotes';
  return typeof node.value === 'string' && /^(?:want )?(?:a whole number|true or false)/.test(want) ? 'remove the quotes' : undefined;
}
