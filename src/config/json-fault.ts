/** Where a text stops being JSON, as an offset, and what is wrong there. */
export interface JsonFault {
  offset: number;
  message: string;
}

const maxDepth = 200;
const blank = /[ \t\r\n]*/y;
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y;
const word = /true|false|null/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON wants them escaped
const text = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;

class Stop extends Error {
  readonly offset: number;
  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

class Scanner {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  document(): void {
    this.#value(0);
    this.#skip(blank);
    if (this.#at < this.#source.length) this.#stop('want nothing more after the value');
  }

  #value(depth: number): void {
    if (depth > maxDepth) this.#stop(`nested deeper than ${maxDepth} levels`);
    this.#skip(blank);
    const next = this.#source[this.#at];
    if (next === '{') this.#list('}', () => this.#member(depth));
    else if (next === '[') this.#list(']', () => this.#value(depth + 1));
    else if (next === '"') this.#string();
    else if (!this.#skip(word) && !this.#skip(number))
      this.#stop(next === undefined ? 'the text ends too early' : 'want a value; text needs double quotes');
  }

  #member(depth: number): void {
    this.#skip(blank);
    if (this.#source[this.#at] !== '"') this.#stop('want a key in double quotes');
    this.#string();
    this.#skip(blank);
    this.#want(':', 'want a colon after the key');
    this.#value(depth + 1);
  }

  #list(end: string, item: () => void): void {
    this.#at += 1;
    this.#skip(blank);
    if (this.#source[this.#at] === end) {
      this.#at += 1;
      return;
    }
    for (;;) {
      item();
      this.#skip(blank);
      if (this.#source[this.#at] !== ',') break;
      this.#at += 1;
    }
    this.#want(end, `want a comma or ${end}`);
  }

  #string(): void {
    if (!this.#skip(text)) this.#stop('this text has no closing quote on its line, or an escape that JSON does not have');
  }

  #want(char: string, message: string): void {
    if (this.#source[this.#at] !== char) this.#stop(this.#at >= this.#source.length ? 'the text ends too early' : message);
    this.#at += 1;
  }

  /** Moves past what the pattern fits; false when it does not fit here. */
  #skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    const length = pattern.exec(this.#source)?.[0].length;
    this.#at += length ?? 0;
    return length !== undefined;
  }

  #stop(message: string): never {
    throw new Stop(this.#at, message);
  }
}

/** The first fault of a text that should be JSON; undefined when it is. V8's own messages often give no place. */
export function jsonFault(source: string): JsonFault | undefined {
  try {
    new Scanner(source).document();
    return undefined;
  } catch (error) {
    if (error instanceof Stop) return { offset: error.offset, message: error.message };
    throw error;
  }
}
