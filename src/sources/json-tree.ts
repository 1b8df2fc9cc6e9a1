import { ManifestError, type ManifestErrorCode, type ManifestFault } from './manifest-error.ts';
import { type DuplicateKeys, type ManifestNode, MaxNesting, type Place, type ScalarNode } from './manifest-node.ts';

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/y;
const BLANKS = /[ \t\r\n]*/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON does not allow them in a string
const STRING = /"[^"\\\0-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\0-\x1f]*)*"/y;
const WORDS = new Map<string, null | boolean>([
  ['true', true],
  ['false', false],
  ['null', null],
]);

/**
 * Reads a JSON text strictly: one value, nothing after it. Throws ManifestError: syntax, duplicate-key, nesting. Each
 * expression is tried at one place only, so the time is linear.
 */
export function readJson(text: string, file: string, duplicates: DuplicateKeys = 'refuse'): ManifestNode {
  return new JsonReader(text, file, duplicates).read();
}

class JsonReader {
  readonly #text: string;
  readonly #file: string;
  readonly #duplicates: DuplicateKeys;
  #at = 0;
  #line = 1;
  #lineStart = 0;

  constructor(text: string, file: string, duplicates: DuplicateKeys) {
    this.#duplicates = duplicates;
    this.#text = text;
    this.#file = file;
  }

  read(): ManifestNode {
    this.#blanks();
    const root = this.#value(0);
    this.#blanks();
    if (this.#at < this.#text.length)
      throw this.#error(
        'syntax',
        `unexpected ${this.#shown()} after the JSON value`,
        'a manifest that begins with { is read as JSON, not as YAML',
      );
    return root;
  }

  #error(code: ManifestErrorCode, problem: string, remedy?: string, at: Place = this.#place()): ManifestError {
    const fault: ManifestFault = { code, file: this.#file, ...at, problem, remedy };
    return new ManifestError(fault);
  }

  #place(): Place {
    return { line: this.#line, column: this.#at - this.#lineStart + 1 };
  }

  #shown(): string {
    const char = this.#text[this.#at];
    return char === undefined ? 'end of the text' : JSON.stringify(char);
  }

  /** Lines end only here: a JSON string holds no line break. */
  #blanks(): void {
    BLANKS.lastIndex = this.#at;
    const blanks = BLANKS.exec(this.#text)?.[0] ?? '';
    for (let i = blanks.indexOf('\n'); i >= 0; i = blanks.indexOf('\n', i + 1)) {
      this.#line += 1;
      this.#lineStart = this.#at + i + 1;
    }
    this.#at += blanks.length;
  }

  #value(depth: number): ManifestNode {
    if (depth > MaxNesting) throw this.#error('nesting', `is nested more than ${MaxNesting} levels deep`);
    const char = this.#text[this.#at];
    if (char === '{') return this.#map(depth);
    if (char === '[') return this.#list(depth);
    const place = this.#place();
    if (char === '"') return { kind: 'scalar', value: this.#string(), size: 1, ...place };
    return this.#number(place) ?? this.#word(place);
  }

  #string(): string {
    STRING.lastIndex = this.#at;
    const quoted = STRING.exec(this.#text)?.[0];
    if (quoted === undefined) throw this.#error('syntax', 'is a string that does not end, or holds a bad escape or a control character');
    this.#at += quoted.length;
    return JSON.parse(quoted) as string;
  }

  #number(place: Place): ScalarNode | undefined {
    NUMBER.lastIndex = this.#at;
    const digits = NUMBER.exec(this.#text)?.[0];
    if (digits === undefined) return undefined;
    this.#at += digits.length;
    const value = Number(digits);
    const isWhole = /^-?[0-9]+$/.test(digits);
    return { kind: 'scalar', value: isWhole && !Number.isSafeInteger(value) ? BigInt(digits) : value, digits, size: 1, ...place };
  }

  #word(place: Place): ScalarNode {
    for (const [word, value] of WORDS) {
      if (!this.#text.startsWith(word, this.#at)) continue;
      this.#at += word.length;
      return { kind: 'scalar', value, size: 1, ...place };
    }
    throw this.#error('syntax', `unexpected ${this.#shown()}, want a JSON value`);
  }

  #list(depth: number): ManifestNode {
    const list: ManifestNode = { kind: 'list', items: [], size: 1, ...this.#place() };
    for (const _ of this.#separated(']')) {
      const item = this.#value(depth + 1);
      list.items.push(item);
      list.size += item.size;
    }
    return list;
  }

  #map(depth: number): ManifestNode {
    const start = this.#at;
    const place = this.#place();
    const entries = new Map<string, { key: Place; value: ManifestNode }>();
    let size = 1;
    for (const _ of this.#separated('}')) {
      const key = this.#place();
      if (this.#text[this.#at] !== '"')
        throw this.#error(
          'syntax',
          `unexpected ${this.#shown()}, want a key in double quotes`,
          'a manifest that begins with { is read as JSON, not as YAML',
        );
      const name = this.#string();
      if (entries.has(name) && this.#duplicates === 'refuse')
        throw this.#error('duplicate-key', `the key ${JSON.stringify(name)} is given twice`, 'remove one of them', key);
      this.#blanks();
      if (this.#text[this.#at] !== ':') throw this.#error('syntax', `unexpected ${this.#shown()}, want a colon`);
      this.#at += 1;
      this.#blanks();
      const value = this.#value(depth + 1);
      entries.set(name, { key, value });
      size += value.size + 1;
    }
    return { kind: 'map', entries, size, span: [start, this.#at], ...place };
  }

  /** Steps from item to item of a list or a map, past the bracket that ends it. */
  *#separated(end: ']' | '}'): Generator<void> {
    this.#at += 1;
    this.#blanks();
    if (this.#text[this.#at] === end) {
      this.#at += 1;
      return;
    }
    for (;;) {
      yield;
      this.#blanks();
      const char = this.#text[this.#at];
      if (char !== ',' && char !== end) throw this.#error('syntax', `unexpected ${this.#shown()}, want a comma or ${end}`);
      this.#at += 1;
      if (char === end) return;
      this.#blanks();
    }
  }
}
