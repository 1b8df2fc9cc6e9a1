import { isIP } from 'node:net';
import { formatDuration, parseDuration } from '../api/duration.ts';
import { labelValueFaults, qualifiedNameFaults } from '../api/names.ts';
import { Quantity } from '../api/quantity.ts';
import { isMemoryResource } from '../api/resource-names.ts';
import type { Field } from './fields.ts';
import { cloneJson, isObject, type JsonObject, newObject } from './json-object.ts';

/** A flag's text that cannot be read. The message is the rule. */
export class FlagValueError extends Error {
  override readonly name = 'FlagValueError';
}

const trues = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);
const falses = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']);

/** A yes or no in the spellings that Go's strconv.ParseBool takes; undefined for any other text. */
export function goBool(text: string): boolean | undefined {
  if (trues.has(text)) return true;
  return falses.has(text) ? false : undefined;
}

export function parseFlagBool(text: string): boolean {
  const value = goBool(text);
  if (value === undefined) throw new FlagValueError('must be true or false');
  return value;
}

/** Go's integer literals: decimal, 0x, 0o or a leading 0, 0b, with underscores between digits. */
export function parseFlagInt(text: string, bits: 32 | 64): number {
  const match = /^([-+]?)(0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO]?[0-7_]+|[0-9][0-9_]*)$/.exec(text);
  const digits = (match?.[2] ?? '').replaceAll('_', '');
  if (match === null || /^0\d*[89]/.test(digits) || (text.includes('_') && !/^[-+]?0/.test(text) && !/^[-+]?\d+(_\d+)*$/.test(text))) {
    throw new FlagValueError('must be a whole number');
  }
  let value = BigInt(/^0[0-7]+$/.test(digits) ? `0o${digits.slice(1)}` : digits.toLowerCase());
  if (match[1] === '-') value = -value;
  const least = -(2n ** BigInt(bits - 1));
  const most = 2n ** BigInt(bits - 1) - 1n;
  if (value < least || value > most) throw new FlagValueError(`must be a whole number, ${least} to ${most}`);
  return Number(value);
}

/** A log level: digits only, up to 31 bits. */
function parseLevel(text: string): number {
  const level = /^\d{1,20}$/.test(text) ? Number(text) : Number.NaN;
  if (level <= 0x7fffffff) return level;
  throw new FlagValueError('must be a whole number that is not negative, in digits');
}

export function parseFlagDuration(text: string): string {
  try {
    return formatDuration(parseDuration(text));
  } catch (error) {
    throw new FlagValueError(error instanceof Error ? error.message : String(error));
  }
}

function parseFlagQuantity(text: string): string {
  try {
    return Quantity.parse(text).toString();
  } catch (error) {
    throw new FlagValueError(error instanceof Error ? error.message : String(error));
  }
}

/** One record of comma-separated values, with quotes as CSV has them. */
export function parseCsv(text: string): string[] {
  if (text === '') return [];
  const values: string[] = [];
  let rest = text;
  for (;;) {
    const quoted = /^"((?:[^"]|"")*)"(?:,|$)/.exec(rest);
    const plain = quoted === null ? /^[^",\r\n]*(?:,|$)/.exec(rest) : null;
    const matched = quoted?.[0] ?? plain?.[0];
    if (matched === undefined) throw new FlagValueError('is no comma-separated list: a quote or a line break in the middle');
    values.push(quoted === null ? matched.replace(/,$/, '') : (quoted[1] ?? '').replaceAll('""', '"'));
    rest = rest.slice(matched.length);
    if (!matched.endsWith(',')) return values;
  }
}

function splitPair(text: string, separator: string, shape: string): [string, string] {
  const at = text.indexOf(separator);
  if (at === -1) throw new FlagValueError(`has the part ${JSON.stringify(text)}, which is not ${shape}`);
  return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

function parts(text: string): string[] {
  return text.split(',').filter((part) => part !== '');
}

function parseTaint(spec: string): JsonObject {
  const taint = newObject();
  const [left = '', effect, ...more] = spec.split(':');
  const [key = '', value, ...tooMuch] = effect === undefined ? [left] : left.split('=');
  if (more.length > 0 || tooMuch.length > 0)
    throw new FlagValueError(`has the taint ${JSON.stringify(spec)}, which is not key=value:effect`);
  const nameFaults = qualifiedNameFaults(key);
  const valueFaults = value === undefined ? [] : labelValueFaults(value);
  const fault = nameFaults[0] ?? valueFaults[0];
  if (fault !== undefined) throw new FlagValueError(`has the taint ${JSON.stringify(spec)}: ${fault}`);
  if (effect === undefined || !['NoSchedule', 'PreferNoSchedule', 'NoExecute'].includes(effect)) {
    throw new FlagValueError(`has the taint ${JSON.stringify(spec)}, whose effect is not NoSchedule, PreferNoSchedule or NoExecute`);
  }
  taint['key'] = key;
  if (value !== undefined && value !== '') taint['value'] = value;
  taint['effect'] = effect;
  return taint;
}

function parseTaints(text: string): JsonObject[] {
  // `key:effect-` asks for a removal; there is nothing to remove, and the real kubelet drops it.
  const specs = text === '' ? [] : text.split(',').filter((spec) => !spec.endsWith('-'));
  const taints = specs.map(parseTaint);
  const seen = new Set<string>();
  for (const taint of taints) {
    const id = `${String(taint['key'])}:${String(taint['effect'])}`;
    if (seen.has(id)) throw new FlagValueError(`has two taints with the key and effect ${id}`);
    seen.add(id);
  }
  return taints;
}

function parseReservedMemory(text: string): JsonObject[] {
  if (text === '') return [];
  return text.split(';').map((reservation) => {
    const [node = '', limitsText, ...more] = reservation.split(':');
    if (limitsText === undefined || more.length > 0)
      throw new FlagValueError(`has the part ${JSON.stringify(reservation)}, which is not node:type=quantity,...`);
    if (!/^[-+]?\d+$/.test(node)) throw new FlagValueError(`has the NUMA node ${JSON.stringify(node)}, which is not a whole number`);
    const limits = newObject();
    for (const limit of limitsText.split(',')) {
      const [type, amount] = splitPair(limit, '=', 'type=quantity');
      if (!isMemoryResource(type))
        throw new FlagValueError(`has the type ${JSON.stringify(type)}, which is not memory or hugepages-<size>`);
      limits[type] = parseFlagQuantity(amount);
    }
    const item = newObject();
    item['numaNode'] = Number(node);
    item['limits'] = limits;
    return item;
  });
}

function parseVmodule(text: string): JsonObject[] {
  return parts(text).map((part) => {
    const [pattern = '', level = '', ...more] = part.split('=');
    if (pattern === '' || !/^\d+$/.test(level) || more.length > 0 || Number(level) > 0x7fffffff) {
      throw new FlagValueError(`has the part ${JSON.stringify(part)}, which is not pattern=N`);
    }
    const item = newObject();
    item['filePattern'] = pattern;
    item['verbosity'] = Number(level);
    return item;
  });
}

function parseScalar(field: Field, text: string): unknown {
  switch (field.type.t) {
    case 'bool':
      return parseFlagBool(text);
    case 'int':
      return field.type.unsigned === true ? parseLevel(text) : parseFlagInt(text, field.type.bits);
    case 'duration':
    case 'durationOrNanos':
      return parseFlagDuration(text);
    case 'quantity':
      return parseFlagQuantity(text);
    default:
      return text;
  }
}

function pairsInto(object: JsonObject, items: readonly string[], separator: string, shape: string): JsonObject {
  for (const item of items) {
    const [key, value] = splitPair(item, separator, shape);
    object[key] = value;
  }
  return object;
}

/**
 * The field's value after the flag was given with `texts`, in order. Maps and lists start anew at the first one and
 * grow with the others; feature gates and log modules add to what the files say. Throws FlagValueError.
 */
export function flagValue(field: Field, texts: readonly string[], current: unknown): unknown {
  const last = texts.at(-1) ?? '';
  switch (field.flag?.form ?? 'value') {
    case 'value':
      return texts.map((text) => parseScalar(field, text)).at(-1);
    case 'ip':
      for (const text of texts)
        if (text !== '' && (text.includes('%') || isIP(text.replace(/\b0+(?=\d)/g, '')) === 0))
          throw new FlagValueError('must be an IP address');
      return last === '' ? current : last;
    case 'list':
      return texts.flatMap(parseCsv);
    case 'pairs':
      return texts.reduce((object, text) => pairsInto(object, parts(text), '=', 'key=value'), newObject());
    case 'onePair':
      return pairsInto(newObject(), texts, '=', 'key=value');
    case 'thresholds':
      return texts.reduce((object, text) => pairsInto(object, parts(text), '<', 'signal<value'), newObject());
    case 'gates': {
      const gates = isObject(current) ? cloneJson(current) : newObject();
      for (const item of texts.flatMap(parts)) {
        const [gate, value] = splitPair(item, '=', 'gate=true or gate=false');
        try {
          gates[gate] = parseFlagBool(value);
        } catch {
          throw new FlagValueError(`has ${JSON.stringify(value)} for the gate ${gate}, which is not true or false`);
        }
      }
      return gates;
    }
    case 'headers': {
      const headers = newObject();
      for (const item of texts.flatMap(parts)) {
        // The value may be a secret: it is not shown.
        if (!item.includes(':')) throw new FlagValueError('has a part that is not name:value');
        const [name, value] = splitPair(item, ':', 'name:value');
        const values = headers[name];
        if (Array.isArray(values)) values.push(value);
        else headers[name] = [value];
      }
      return headers;
    }
    case 'taints':
      return texts.map(parseTaints).at(-1);
    case 'reservedMemory':
      return texts.flatMap(parseReservedMemory);
    case 'vmodule':
      return [...(Array.isArray(current) ? (current as unknown[]) : []), ...texts.flatMap(parseVmodule)];
  }
}
