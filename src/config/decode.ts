import { formatDuration, parseDuration } from '../api/duration.ts';
import { Quantity } from '../api/quantity.ts';
import { formatTime, parseTime } from '../api/time.ts';
import type { ConfigFault, Position } from './errors.ts';
import { type FieldType, typeName } from './field-types.ts';
import { type Field, fields } from './fields.ts';
import { type JsonObject, newObject } from './json-object.ts';
import type { Located, LocatedMap } from './yaml.ts';

export interface UnknownField {
  path: string;
  at: Position;
}

export interface Decoded {
  /** In JSON form: durations, quantities and times canonical. In a patch, null stands for "delete". */
  value: JsonObject;
  /** Where each value and each key stands, by field path. */
  places: Map<string, Position>;
  unknown: UnknownField[];
  faults: ConfigFault[];
}

type Branch = Map<string, Branch | Field>;

function buildTree(): Branch {
  const root: Branch = new Map();
  for (const field of fields) {
    const names = field.path.split('.');
    const last = names.pop() ?? '';
    let at = root;
    for (const name of names) {
      const next = at.get(name);
      if (next instanceof Map) at = next;
      else {
        const created: Branch = new Map();
        at.set(name, created);
        at = created;
      }
    }
    at.set(last, field);
  }
  return root;
}

const tree = buildTree();

function foundKind(node: Located): string {
  if (node.kind === 'map') return 'an object';
  if (node.kind === 'list') return 'a list';
  if (node.value === null) return 'null';
  if (typeof node.value === 'boolean') return 'a boolean';
  return typeof node.value === 'string' ? 'text' : 'a number';
}

function shown(node: Located): unknown {
  return node.kind === 'scalar' ? node.value : undefined;
}

/**
 * Drop-ins go through Go's plain JSON reader in the end, which takes names in any case. The merged text has its names
 * sorted and the last one wins: `maxpods` comes after the base's `maxPods`, `MaxPods` before it and is lost.
 */
function inOtherCase(key: string, branch: Branch): string {
  const known = [...branch.keys()].find((name) => name.toLowerCase() === key.toLowerCase());
  return known !== undefined && key > known ? known : key;
}

/** Marks a value that was refused: it is left out, the fault is recorded. */
const refused = Symbol('refused');

class Decoder {
  readonly places = new Map<string, Position>();
  readonly unknown: UnknownField[] = [];
  readonly faults: ConfigFault[] = [];
  readonly #file: string;
  readonly #patch: boolean;
  #masked = false;

  constructor(file: string, patch: boolean) {
    this.#file = file;
    this.#patch = patch;
  }

  branch(node: LocatedMap, branch: Branch, path: string, skip: ReadonlySet<string>): JsonObject {
    const object = newObject();
    for (const [key, { keyAt, value }] of node.entries) {
      if (skip.has(key)) continue;
      const name = branch.has(key) || !this.#patch ? key : inOtherCase(key, branch);
      const childPath = path === '' ? name : `${path}.${name}`;
      const child = branch.get(name);
      if (child === undefined) {
        this.unknown.push({ path: childPath, at: keyAt });
        continue;
      }
      if (!(child instanceof Map)) this.places.set(childPath, value.at);
      const decoded = child instanceof Map ? this.#subBranch(value, child, childPath) : this.#field(value, child);
      if (decoded !== refused && decoded !== undefined) object[name] = decoded;
    }
    return object;
  }

  #subBranch(node: Located, branch: Branch, path: string): unknown {
    if (node.kind === 'map') return this.branch(node, branch, path, new Set());
    if (isNull(node)) return this.#patch ? null : undefined;
    return this.#refuse(node, path, `must be an object with ${[...branch.keys()].join(', ')}, not ${foundKind(node)}`);
  }

  #field(node: Located, field: Field): unknown {
    if (isNull(node)) {
      if (this.#patch) return null;
      // Go reads null into a duration as an empty text, which is none; everywhere else null means "not given".
      if (field.type.t !== 'duration' || field.pointer === true) return undefined;
    }
    this.#masked = field.masked === true;
    return this.value(node, field.type, field.path);
  }

  value(node: Located, type: FieldType, path: string): unknown {
    switch (type.t) {
      case 'bool':
        if (node.kind === 'scalar' && typeof node.value === 'boolean') return node.value;
        return isNull(node) ? false : this.#wrongType(node, type, path);
      case 'string':
        if (node.kind === 'scalar' && typeof node.value === 'string') return node.value;
        return isNull(node) ? '' : this.#wrongType(node, type, path);
      case 'int':
        return this.#int(node, type, path);
      case 'float':
        if (node.kind === 'scalar' && (typeof node.value === 'number' || typeof node.value === 'bigint')) return Number(node.value);
        return isNull(node) ? 0 : this.#wrongType(node, type, path);
      case 'list':
        return this.#list(node, type, path);
      case 'map':
        return this.#map(node, type, path);
      case 'struct':
        return this.#struct(node, type, path);
      case 'duration':
        return this.#text(node, type, path, (text) => formatDuration(parseDuration(text)), 'as in 1m30s');
      case 'durationOrNanos':
        if (node.kind === 'scalar' && typeof node.value === 'bigint') return Number(node.value);
        if (isNull(node)) return 0;
        return this.#text(node, type, path, (text) => formatDuration(parseDuration(text)), 'as in 5s');
      case 'time':
        return this.#text(node, type, path, (text) => formatTime(parseTime(text)), 'as in 2026-01-31T12:00:00Z');
      case 'quantity':
        return this.#quantity(node, type, path);
    }
  }

  #int(node: Located, type: FieldType & { t: 'int' }, path: string): unknown {
    if (isNull(node)) return 0;
    if (node.kind !== 'scalar' || typeof node.value !== 'bigint') return this.#wrongType(node, type, path);
    const least = type.unsigned === true ? 0n : -(2n ** BigInt(type.bits - 1));
    const most = 2n ** BigInt(type.unsigned === true ? type.bits : type.bits - 1) - 1n;
    if (node.value >= least && node.value <= most) return Number(node.value);
    return this.#refuse(node, path, `must be a ${typeName(type)}: ${least} to ${most}`);
  }

  #list(node: Located, type: FieldType & { t: 'list' }, path: string): unknown {
    if (isNull(node)) return undefined;
    if (node.kind !== 'list') return this.#wrongType(node, type, path, 'write it as a list, one "- item" a line');
    return node.items.map((item, i) => {
      this.places.set(`${path}[${i}]`, item.at);
      return this.value(item, type.of, `${path}[${i}]`);
    });
  }

  #map(node: Located, type: FieldType & { t: 'map' }, path: string): unknown {
    if (isNull(node)) return undefined;
    if (node.kind !== 'map') return this.#wrongType(node, type, path, 'write it as an object, one "key: value" a line');
    const object = newObject();
    for (const [key, { value }] of node.entries) {
      const itemPath = `${path}[${key}]`;
      this.places.set(itemPath, value.at);
      if (isNull(value) && this.#patch) object[key] = null;
      else {
        const decoded = this.value(value, type.of, itemPath);
        if (decoded !== refused) object[key] = decoded ?? null;
      }
    }
    return object;
  }

  #struct(node: Located, type: FieldType & { t: 'struct' }, path: string): unknown {
    const object = newObject();
    if (node.kind === 'map') {
      for (const [key, { keyAt, value }] of node.entries) {
        const itemPath = `${path}.${key}`;
        const sub = Object.hasOwn(type.fields, key) ? type.fields[key] : undefined;
        if (sub === undefined) {
          this.unknown.push({ path: itemPath, at: keyAt });
          continue;
        }
        this.places.set(itemPath, value.at);
        if (isNull(value)) continue;
        const decoded = this.value(value, sub.type, itemPath);
        if (decoded !== refused && decoded !== undefined) object[key] = decoded;
      }
    } else if (!isNull(node)) return this.#wrongType(node, type, path);
    return object;
  }

  #text(node: Located, type: FieldType, path: string, read: (text: string) => string, example: string): unknown {
    if (node.kind !== 'scalar' || typeof node.value !== 'string') return this.#wrongType(node, type, path, example);
    try {
      return read(node.value);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return this.#refuse(node, path, reason, example);
    }
  }

  #quantity(node: Located, type: FieldType, path: string): unknown {
    if (node.kind !== 'scalar' || typeof node.value === 'boolean') return this.#wrongType(node, type, path, 'as in 500m, 1Gi or 2');
    try {
      return Quantity.fromJson(typeof node.value === 'bigint' ? node.value.toString() : node.value).toString();
    } catch (error) {
      return this.#refuse(node, path, error instanceof Error ? error.message : String(error), 'as in 500m, 1Gi or 2');
    }
  }

  #wrongType(node: Located, type: FieldType, path: string, remedy?: string): typeof refused {
    let advice = remedy;
    if (advice === undefined && type.t === 'string' && node.kind === 'scalar') advice = 'put it in quotes';
    if (advice === undefined && type.t === 'bool') advice = 'true or false, without quotes';
    return this.#refuse(node, path, `must be a ${typeName(type)}, not ${foundKind(node)}`, advice);
  }

  #refuse(node: Located, path: string, rule: string, remedy?: string): typeof refused {
    this.faults.push({
      code: 'type',
      file: this.#file,
      ...node.at,
      field: path,
      ...(this.#masked ? {} : { value: shown(node) }),
      rule,
      ...(remedy === undefined ? {} : { remedy }),
    });
    return refused;
  }
}

function isNull(node: Located): boolean {
  return node.kind === 'scalar' && node.value === null;
}

const typeMeta = new Set(['apiVersion', 'kind']);

/**
 * Reads a document as KubeletConfiguration v1beta1. apiVersion and kind are the caller's to check. Unknown fields are
 * reported and left out; keys are case-sensitive. `patch` keeps nulls, which delete in a merge.
 */
export function decodeConfig(node: LocatedMap, file: string, patch = false): Decoded {
  const decoder = new Decoder(file, patch);
  const value = decoder.branch(node, tree, '', typeMeta);
  return { value, places: decoder.places, unknown: decoder.unknown, faults: decoder.faults };
}

/** Names of the fields at the top, for the nearest one to a misspelt name. */
export function knownNames(parent: string): string[] {
  let at: Branch | Field | undefined = tree;
  for (const name of parent === '' ? [] : parent.split('.')) at = at instanceof Map ? at.get(name) : undefined;
  return at instanceof Map ? [...at.keys()] : [];
}
