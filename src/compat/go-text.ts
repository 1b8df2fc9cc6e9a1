/** Go's encoding/json text of a string: JSON.stringify with `<`, `>`, `&`, U+2028 and U+2029 escaped, U+FFFD for lone surrogates. */
export function goJsonString(text: string): string {
  return JSON.stringify(text.toWellFormed()).replace(/[<>&\u2028\u2029]/g, (c) => `\\u${hex(c.charCodeAt(0), 4)}`);
}

const ShortEscapes: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
};

/** What Go prints as it is: letters, marks, numbers, punctuation, symbols, and of the blanks only the ASCII one. */
const Printable = /[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;

/** Go's strconv.Quote: double quotes, backslash escapes, everything that is not printable as \x, \u or \U. */
export function goQuote(text: string): string {
  let out = '"';
  for (const char of text.toWellFormed()) {
    const short = Object.hasOwn(ShortEscapes, char) ? ShortEscapes[char] : undefined;
    if (short !== undefined) out += short;
    else if (Printable.test(char)) out += char;
    else out += codeEscape(char.codePointAt(0) ?? 0);
  }
  return `${out}"`;
}

function codeEscape(code: number): string {
  if (code < 0x20 || code === 0x7f) return `\\x${hex(code, 2)}`;
  return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
}

function hex(code: number, width: number): string {
  return code.toString(16).padStart(width, '0');
}

/** Order of Go's sort.Strings: by the bytes of the UTF-8 form. */
export function compareGoStrings(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
