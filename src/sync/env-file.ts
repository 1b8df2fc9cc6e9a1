/** The text is no env file; `line` counts from 1. */
export class EnvFileError extends Error {
  readonly code = 'invalid-env-file';
  readonly line: number;
  constructor(line: number, what: string) {
    super(`line ${line}: ${what}`);
    this.name = 'EnvFileError';
    this.line = line;
  }
}

const BLANKS = ' \t';

/**
 * The value of `key` in an env file (KEP-3721): lines `KEY='value'`, where a value in single quotes may span lines; blank
 * lines and `#` comments are passed over, also behind a value. A blank behind `=` makes an empty value, as in a shell.
 * Undefined when the key is not there or empty. Reads no further than the key; throws EnvFileError for what comes before it.
 */
export function envFileValue(text: string, key: string): string | undefined {
  const reader = new Reader(text);
  for (;;) {
    reader.skipBlanks();
    if (reader.atEnd) return undefined;
    if (reader.peek() === '\n' || reader.peek() === '#') {
      reader.skipLine();
      continue;
    }
    const name = reader.name();
    const value = reader.value();
    if (name === key) return value === '' ? undefined : value;
  }
}

class Reader {
  readonly #text: string;
  #at = 0;
  #line = 1;

  constructor(text: string) {
    this.#text = text.replaceAll('\r\n', '\n');
  }

  get atEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  peek(): string {
    return this.#text[this.#at] ?? '';
  }

  skipBlanks(): void {
    while (!this.atEnd && BLANKS.includes(this.peek())) this.#at++;
  }

  skipLine(): void {
    this.#at = this.#find('\n') + 1;
    this.#line++;
  }

  /** Up to and with the `=`. */
  name(): string {
    const equals = this.#text.indexOf('=', this.#at);
    if (equals < 0 || equals > this.#find('\n')) throw new EnvFileError(this.#line, "missing '='");
    const name = this.#text.slice(this.#at, equals);
    if (name.trim() === '') throw new EnvFileError(this.#line, 'empty variable name');
    if (BLANKS.includes(name.at(-1) ?? '')) throw new EnvFileError(this.#line, "whitespace before '=' is not allowed");
    this.#at = equals + 1;
    return name;
  }

  /** To the end of its last line. */
  value(): string {
    if (!this.atEnd && BLANKS.includes(this.peek())) {
      this.skipLine();
      return '';
    }
    if (this.peek() !== "'") throw new EnvFileError(this.#line, 'value must be enclosed in single quotes');
    const close = this.#text.indexOf("'", this.#at + 1);
    if (close < 0) throw new EnvFileError(this.#line, 'unclosed single quote');
    const value = this.#text.slice(this.#at + 1, close);
    this.#line += value.split('\n').length - 1;
    this.#at = close + 1;
    this.skipBlanks();
    if (!this.atEnd && this.peek() !== '\n' && this.peek() !== '#')
      throw new EnvFileError(this.#line, 'unexpected content after closing quote');
    this.skipLine();
    return value;
  }

  #find(char: string): number {
    const found = this.#text.indexOf(char, this.#at);
    return found < 0 ? this.#text.length : found;
  }
}
