import { Composer, type CST, type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, Parser, type Scalar } from 'yaml';
import { plainScalar, type ScalarValue } from '../config/plain-scalar.ts';
import { looseLexer } from './loose-lexer.ts';
import { ManifestError, type ManifestErrorCode, type ManifestFault } from './manifest-error.ts';
import { type DuplicateKeys, type ManifestNode, type MapNode, MaxNesting, type Place } from './manifest-node.ts';

/** The one fault of the library that Kubernetes does not know: a bracket that closes under its key. */
const LOOSE_END = 'Flow end indicator should be more indented than parent';
const MAX_EXPANDED = 4_000_000;

/**
 * Reads the first YAML document of `text` as Kubernetes does: YAML 1.1 scalars, merge keys, text keys. Undefined for an
 * empty document. Throws ManifestError: syntax, duplicate-key, alias, nesting.
 */
export function readYaml(text: string, file: string, duplicates: DuplicateKeys = 'refuse'): ManifestNode | undefined {
  const lines = new LineCounter();
  const reader = new TreeReader(text, file, lines, duplicates);
  // Scalars stay text here, so that ours, not the library's, is the reading of plain scalars.
  const composer = new Composer({ version: '1.1', schema: 'failsafe', uniqueKeys: false, strict: false, logLevel: 'silent' });
  try {
    for (const document of composer.compose(tokens(text, lines))) return reader.read(document);
  } catch (error) {
    if (error instanceof RangeError)
      throw new ManifestError({ code: 'nesting', file, line: 1, column: 1, problem: 'is nested too deeply' });
    throw error;
  }
  return undefined;
}

function* tokens(text: string, lines: LineCounter): Generator<CST.Token, void> {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  for (const lexeme of looseLexer().lex(text)) yield* parser.next(lexeme);
  yield* parser.end();
}

class TreeReader {
  readonly #text: string;
  readonly #file: string;
  readonly #lines: LineCounter;
  readonly #duplicates: DuplicateKeys;
  readonly #anchors = new Map<string, ManifestNode | 'open'>();
  #own = 0;

  constructor(text: string, file: string, lines: LineCounter, duplicates: DuplicateKeys) {
    this.#duplicates = duplicates;
    this.#text = text;
    this.#file = file;
    this.#lines = lines;
  }

  read(document: Document.Parsed): ManifestNode | undefined {
    const fault = document.errors.find((error) => !error.message.startsWith(LOOSE_END));
    if (fault) {
      const { line, col } = this.#lines.linePos(fault.pos[0]);
      const problem =
        fault.message
          .split('\n')[0]
          ?.replace(' in block collection must be sufficiently indented and', ' must')
          .replace(/ at line \d+, column \d+:?$/, '') ?? 'is no YAML';
      // What the library makes of a RangeError of its own.
      if (problem.includes('call stack')) throw this.#error('nesting', { line, column: col }, 'is nested too deeply');
      throw this.#error('syntax', { line, column: col }, problem);
    }
    if (!document.contents) return undefined;
    const root = this.#node(document.contents, 0);
    // Go's rule against alias bombs, on the expanded size.
    const fromAliases = root.size - this.#own;
    const isBomb = fromAliases > 100 && root.size > 1000 && fromAliases / root.size > allowedAliasRatio(root.size);
    if (isBomb || root.size > MAX_EXPANDED) throw this.#error('alias', root, 'expands to too many values by aliases');
    return root;
  }

  #error(code: ManifestErrorCode, at: Place, problem: string, more: Partial<ManifestFault> = {}): ManifestError {
    return new ManifestError({ code, file: this.#file, line: at.line, column: at.column, problem, ...more });
  }

  #place(node: Node): Place {
    const { line, col } = this.#lines.linePos(node.range?.[0] ?? 0);
    return { line, column: col };
  }

  #node(node: Node, depth: number): ManifestNode {
    this.#own += 1;
    const place = this.#place(node);
    if (depth > MaxNesting) throw this.#error('nesting', place, `is nested more than ${MaxNesting} levels deep`);
    if (isAlias(node)) return this.#alias(node.source, place);
    const anchor = 'anchor' in node ? node.anchor : undefined;
    if (anchor !== undefined) this.#anchors.set(anchor, 'open');
    const made = this.#value(node, place, depth);
    if (anchor !== undefined) this.#anchors.set(anchor, made);
    return made;
  }

  #alias(name: string, place: Place): ManifestNode {
    const target = this.#anchors.get(name);
    if (target === 'open') throw this.#error('alias', place, `the anchor ${JSON.stringify(name)} contains itself`);
    if (!target) throw this.#error('alias', place, `the alias ${JSON.stringify(name)} has no anchor before it`);
    return target;
  }

  #value(node: Node, place: Place, depth: number): ManifestNode {
    if (isScalar(node)) return { kind: 'scalar', value: this.#scalar(node, place), size: 1, ...place };
    if (isSeq<Node | null>(node)) {
      const items = node.items.map((item) => (item ? this.#node(item, depth + 1) : nullNode(place)));
      return { kind: 'list', items, size: items.reduce((sum, item) => sum + item.size, 1), ...place };
    }
    if (isMap<Node, Node | null>(node)) return this.#map(node.items, place, depth);
    throw this.#error('syntax', place, 'is no value that JSON can hold');
  }

  #map(pairs: { key: Node; value: Node | null }[], place: Place, depth: number): ManifestNode {
    const map: MapNode = { kind: 'map', entries: new Map(), size: 1, ...place };
    const written = new Set<string>();
    for (const { key, value } of pairs) {
      const keyPlace = this.#place(key);
      if (isMergeKey(key)) {
        if (value) this.#merge(map, this.#node(value, depth + 1));
        continue;
      }
      const name = this.#key(key, keyPlace, depth);
      if (written.has(name) && this.#duplicates === 'refuse')
        throw this.#error('duplicate-key', keyPlace, `the key ${JSON.stringify(name)} is given twice`, { remedy: 'remove one of them' });
      written.add(name);
      const inner = value ? this.#node(value, depth + 1) : nullNode(keyPlace);
      map.entries.set(name, { key: keyPlace, value: inner });
      map.size += inner.size + 1;
      this.#own += 1;
    }
    return map;
  }

  /** A merge takes effect where it stands: it replaces keys before it, and keys after it replace its own. */
  #merge(map: MapNode, from: ManifestNode): void {
    const sources = from.kind === 'list' ? [...from.items].reverse() : [from];
    for (const source of sources) {
      if (source.kind !== 'map') throw this.#error('syntax', from, 'a merge key (<<) needs a map or a list of maps');
      for (const [name, entry] of source.entries) map.entries.set(name, entry);
      map.size += source.size;
    }
  }

  /** JSON keys are text: numbers and booleans are written out. */
  #key(key: Node, place: Place, depth: number): string {
    const node = this.#node(key, depth + 1);
    const value = node.kind === 'scalar' ? node.value : undefined;
    if (value === undefined || value === null) throw this.#error('syntax', place, 'a key must be text, a number or a boolean');
    return String(value);
  }

  #scalar(node: Scalar, place: Place): ScalarValue {
    const text = String(node.value ?? '');
    const tag = node.tag?.replace('tag:yaml.org,2002:', '!!');
    if (node.type === 'QUOTE_DOUBLE' && hasSlashEscape(this.#text.slice(node.range?.[0], node.range?.[1]))) {
      throw this.#error('syntax', place, 'holds the escape \\/, which is JSON and not YAML');
    }
    if (tag === '!!str' || (tag === undefined && node.type !== 'PLAIN')) return text;
    if (tag === '!!binary') return Buffer.from(text, 'base64').toString('utf8');
    const value = plainScalar(text);
    if (tag !== undefined && TAGGED[tag]?.(value) === false)
      throw this.#error('syntax', place, `${JSON.stringify(text.slice(0, 80))} does not fit its tag ${tag}`);
    if (typeof value === 'number' && !Number.isFinite(value)) throw this.#error('syntax', place, 'is no number that JSON can hold');
    return typeof value === 'bigint' && Number.isSafeInteger(Number(value)) ? Number(value) : value;
  }
}

/** Values that fit an explicit tag. */
const TAGGED: Readonly<Record<string, (value: ScalarValue) => boolean>> = {
  '!!int': (value) => typeof value === 'bigint' || Number.isInteger(value),
  '!!float': (value) => typeof value === 'bigint' || typeof value === 'number',
  '!!bool': (value) => typeof value === 'boolean',
  '!!null': (value) => value === null,
};

function isMergeKey(key: Node): boolean {
  return isScalar(key) && key.value === '<<' && key.type === 'PLAIN' && (key.tag === undefined || key.tag === 'tag:yaml.org,2002:merge');
}

function hasSlashEscape(quoted: string): boolean {
  return /^(?:[^\\]|\\[^/])*\\\//.test(quoted);
}

function nullNode(place: Place): ManifestNode {
  return { kind: 'scalar', value: null, size: 1, ...place };
}

/** 99% up to 400,000 values, falling to 10% at 4,000,000. */
function allowedAliasRatio(size: number): number {
  const low = 400_000;
  if (size <= low) return 0.99;
  return Math.max(0.1, 0.99 - 0.89 * ((size - low) / (MAX_EXPANDED - low)));
}
