import { Lexer } from 'yaml';

/**
 * A lexer that, as Kubernetes' own YAML reader, asks for no indentation inside of brackets and quotes:
 *
 *     args: [
 *     "a",
 *     ]
 *
 * The library wants each line deeper than the key and has no option for it; its lexer takes what it wants from
 * `indentNext` and says by `flowLevel` whether it stands inside of brackets.
 */
export function looseLexer(): Lexer {
  const lexer = new Lexer();
  let wanted = 0;
  let inQuotes = false;
  Object.defineProperty(lexer, 'indentNext', {
    get: () => (inQuotes || Number(Reflect.get(lexer, 'flowLevel')) > 0 ? 0 : wanted),
    set: (value: number) => {
      wanted = value;
    },
  });
  const parseQuoted: unknown = Reflect.get(lexer, 'parseQuotedScalar');
  if (typeof parseQuoted !== 'function') throw new Error('the YAML lexer has changed: no parseQuotedScalar');
  Object.defineProperty(lexer, 'parseQuotedScalar', {
    value: function* () {
      inQuotes = true;
      try {
        return yield* Reflect.apply(parseQuoted, lexer, []) as Generator<string, unknown>;
      } finally {
        inQuotes = false;
      }
    },
  });
  return lexer;
}
