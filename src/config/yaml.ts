import { type Alias, Composer, type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, Parser, type YAMLMap } from 'yaml';
import type { Position } from './errors.ts';
import { jsonFault } from './json-fault.ts';
import { plainScalar, type ScalarValue } from './plain-scalar.ts';

/** A value with the place where it stands. */
export type Located = LocatedMap | LocatedList | LocatedScalar;

export interface LocatedMap {
  kind: 'map';
  at: Position;
  /** Of a key that stands several times the last one counts, as for Kubernetes. */
  entries: Map<string, { keyAt: Position; value: Located }>;
}
export interface LocatedList {
  kind: 'list';
  at: Position;
  items: Located[];
}
export interface LocatedScalar {
  kind: 'scalar';
  at: Position;
  value: ScalarValue;
}

export interface DuplicateKey {
  /** Path of the key as in `featureGates[NodeSwap]`. */
  path: string;
  at: Position;
  firstLine: number;
}

export interface YamlFault {
  at: Position;
  message: string;
}

export interface ParsedText {
  /** Absent only when there are faults. An empty text gives a null scalar. */
  value?: Located;
  duplicates: DuplicateKey[];
  faults: YamlFault[];
  /** JSON texts are read by JSON's rules: no comments, no words for booleans. */
  json: boolean;
  /** Line of a second document, which nobody reads. */
  secondDocumentLine?: number;
}

export interface ParseLimits {
  /** Bytes. */
  maxBytes: number;
  /** Nodes after aliases are replaced by what they stand for: what an alias bomb blows up. */
  maxNodes: number;
  maxDepth: number;
}

export const defaultLimits: ParseLimits = { maxBytes: 1 << 20, maxNodes: 200_000, maxDepth: 64 };

const start: Position = { line: 1, column: 1 };

class TooMuch extends Error {
  readonly at: Position;
  constructor(at: Position, message: string) {
    super(message);
    this.at = at;
  }
}

/** Path of `key` under `path`, in the form of Kubernetes' field paths. */
export function childPath(path: string, key: string): string {
  if (!/^[A-Za-z_][\w-]*$/.test(key)) return `${path}[${key}]`;
  return path === '' ? key : `${path}.${key}`;
}

class Converter {
  readonly duplicates: DuplicateKey[] = [];
  readonly faults: YamlFault[] = [];
  readonly #lines: LineCounter;
  readonly #doc: Document;
  readonly #limits: ParseLimits;
  readonly #json: boolean;
  readonly #targets = new Map<Alias, Node>();
  #nodes = 0;

  constructor(doc: Document, lines: LineCounter, limits: ParseLimits, json: boolean) {
    this.#doc = doc;
    this.#lines = lines;
    this.#limits = limits;
    this.#json = json;
  }

  at(offset: number | undefined): Position {
    if (offset === undefined) return start;
    const { line, col } = this.#lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  }

  convert(node: Node | null | undefined, path: string, depth: number): Located {
    const at = this.at(node?.range?.[0]);
    this.#nodes += 1;
    if (this.#nodes > this.#limits.maxNodes) throw new TooMuch(at, `more than ${this.#limits.maxNodes} values, aliases counted out`);
    if (depth > this.#limits.maxDepth) throw new TooMuch(at, `nested deeper than ${this.#limits.maxDepth} levels`);
    if (node === null || node === undefined) return { kind: 'scalar', at, value: null };
    if (isAlias(node)) {
      const target = this.#target(node);
      if (target === undefined) {
        this.faults.push({ at, message: `unknown anchor ${node.source}` });
        return { kind: 'scalar', at, value: null };
      }
      return this.convert(target, path, depth + 1);
    }
    if (isSeq(node)) {
      const items = node.items.map((item, i) => this.convert(item as Node, `${path}[${i}]`, depth + 1));
      return { kind: 'list', at, items };
    }
    if (isMap(node)) return this.#map(node, at, path, depth);
    if (isScalar(node)) return { kind: 'scalar', at, value: this.#scalar(node, at) };
    return { kind: 'scalar', at, value: null };
  }

  /** Finding an anchor walks the whole document: once for each alias, however often what holds it is expanded. */
  #target(alias: Alias): Node | undefined {
    const known = this.#targets.get(alias);
    if (known !== undefined) return known;
    const target = alias.resolve(this.#doc) as Node | undefined;
    if (target !== undefined) this.#targets.set(alias, target);
    return target;
  }

  #scalar(node: { value: unknown; source?: string; type?: unknown; tag?: string }, at: Position): ScalarValue {
    const text = typeof node.value === 'string' ? node.value : (node.source ?? '');
    if (node.tag === 'tag:yaml.org,2002:str') return text;
    if (node.type !== 'PLAIN' && node.type !== undefined && node.tag === undefined) return text;
    const value = this.#json ? jsonScalar(text) : plainScalar(text);
    if (typeof value === 'number' && !Number.isFinite(value)) this.faults.push({ at, message: `${text} has no form in JSON` });
    // The reader goes by way of JSON, where 5.0 is written 5.
    if (typeof value === 'number' && !this.#json && Number.isInteger(value) && Math.abs(value) < 1e21) return BigInt(value);
    return value;
  }

  #map(node: YAMLMap, at: Position, path: string, depth: number): LocatedMap {
    const entries: LocatedMap['entries'] = new Map();
    const merged: LocatedMap[] = [];
    for (const pair of node.items) {
      const keyNode = pair.key as Node | null;
      const keyAt = this.at(keyNode?.range?.[0] ?? node.range?.[0]);
      if (!this.#json && isScalar(keyNode) && keyNode.type === 'PLAIN' && keyNode.value === '<<') {
        this.#merge(this.convert(pair.value as Node, path, depth + 1), keyAt, merged);
        continue;
      }
      const key = this.#key(keyNode, keyAt);
      if (key === undefined) continue;
      const childAt = childPath(path, key);
      const earlier = entries.get(key);
      if (earlier !== undefined) this.duplicates.push({ path: childAt, at: keyAt, firstLine: earlier.keyAt.line });
      const value = this.convert(pair.value as Node, childAt, depth + 1);
      entries.set(key, { keyAt, value: pair.value === null ? { ...value, at: keyAt } : value });
    }
    for (const map of merged) for (const [key, entry] of map.entries) if (!entries.has(key)) entries.set(key, entry);
    return { kind: 'map', at, entries };
  }

  #merge(value: Located, at: Position, into: LocatedMap[]): void {
    const maps = value.kind === 'list' ? value.items : [value];
    for (const map of maps) {
      if (map.kind === 'map') into.push(map);
      else this.faults.push({ at, message: 'a merge key (<<) needs a mapping or a list of mappings' });
    }
  }

  #key(node: Node | null, at: Position): string | undefined {
    if (isAlias(node)) return this.#key(this.#target(node) ?? null, at);
    if (!isScalar(node)) {
      this.faults.push({ at, message: 'a key must be a text, a number or a boolean' });
      return undefined;
    }
    const value = this.#scalar(node, at);
    if (value === null) {
      this.faults.push({ at, message: 'a key must not be null' });
      return undefined;
    }
    return String(value);
  }
}

/** The value of an unquoted JSON scalar. The text is known to be JSON. */
function jsonScalar(text: string): ScalarValue {
  if (text === 'null') return null;
  if (text === 'true') return true;
  if (text === 'false') return false;
  return /^-?\d+$/.test(text) ? BigInt(text) : Number(text);
}

/** Brackets open at a time, quotes not looked at; the parser needs stack and much time for each of them. */
const maxOpenBrackets = 300;

function tooDeep(text: string): number | undefined {
  let open = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 0x5b || c === 0x7b) open += 1;
    else if ((c === 0x5d || c === 0x7d) && open > 0) open -= 1;
    if (open > maxOpenBrackets) return i;
  }
  return undefined;
}

function placeOf(text: string, offset: number): Position {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
}

function decodeUtf8(data: Uint8Array): string | YamlFault {
  const nul = data.indexOf(0);
  if (nul !== -1) return { at: start, message: `this is a binary file: a zero byte at offset ${nul}` };
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(data);
  } catch {
    return { at: start, message: 'this is a binary file: it is not UTF-8' };
  }
}

/**
 * Reads the first YAML (1.1, as Kubernetes) or JSON document of `data` with the place of every value. All that is
 * wrong comes back in `faults`; nothing is thrown. Needs about 40 ms for 64 KiB.
 */
export function parseLocated(data: Uint8Array, limits: ParseLimits = defaultLimits): ParsedText {
  const result: ParsedText = { duplicates: [], faults: [], json: false };
  if (data.byteLength > limits.maxBytes) {
    result.faults.push({ at: start, message: `${data.byteLength} bytes are more than the ${limits.maxBytes} that are read` });
    return result;
  }
  const text = decodeUtf8(data);
  if (typeof text !== 'string') {
    result.faults.push(text);
    return result;
  }
  const deep = tooDeep(text);
  if (deep !== undefined) {
    result.faults.push({ at: placeOf(text, deep), message: 'nested too deeply' });
    return result;
  }
  result.json = /^\s*\{/.test(text);
  if (result.json) {
    const fault = jsonFault(text);
    if (fault !== undefined) {
      const message = `not JSON, which a text that begins with { must be: ${fault.message}`;
      result.faults.push({ at: placeOf(text, fault.offset), message });
      return result;
    }
  }
  try {
    parseText(text, limits, result);
  } catch (error) {
    if (error instanceof TooMuch) result.faults.push({ at: error.at, message: error.message });
    else if (error instanceof RangeError) result.faults.push({ at: start, message: 'nested too deeply' });
    else throw error;
  }
  if (result.faults.length > 0) delete result.value;
  return result;
}

/** One syntax error brings others after it; those on the same line and those past the fifth help nobody. */
function firstOfEachLine(faults: YamlFault[]): YamlFault[] {
  const lines = new Set<number>();
  return faults.filter((f) => !lines.has(f.at.line) && lines.add(f.at.line).size <= 5);
}

function parseText(text: string, limits: ParseLimits, result: ParsedText): void {
  const lines = new LineCounter();
  const parser = new Parser(lines.addNewLine);
  const composer = new Composer({
    schema: 'failsafe',
    version: '1.1',
    uniqueKeys: false,
    strict: true,
    keepSourceTokens: false,
    lineCounter: lines,
    prettyErrors: false,
    logLevel: 'silent',
  });
  const documents = composer.compose(parser.parse(text), true, text.length);
  const first = documents.next();
  if (first.done === true) return;
  const doc = first.value;
  const converter = new Converter(doc, lines, limits, result.json);
  result.faults.push(...firstOfEachLine(doc.errors.map((error) => ({ at: converter.at(error.pos[0]), message: error.message }))));
  const { version, explicit } = doc.directives?.yaml ?? {};
  if (explicit === true && version !== '1.1') result.faults.push({ at: start, message: `YAML ${version} is not read, only 1.1` });
  if (result.faults.length > 0) return;
  result.value = converter.convert(doc.contents as Node | null, '', 0);
  result.duplicates.push(...converter.duplicates);
  result.faults.push(...converter.faults);
  const second = documents.next();
  if (second.done !== true && second.value.contents !== null) {
    result.secondDocumentLine = converter.at(second.value.range[0]).line;
  }
}
