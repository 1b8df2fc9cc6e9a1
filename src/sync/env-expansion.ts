import type { EnvVar } from '../api/types.ts';

/** What a name stands for; undefined keeps the reference as it is written. */
export type Lookup = (name: string) => string | undefined;

/**
 * Replaces every `$(NAME)`. `$$` is an escaped dollar; a reference to an unknown name, one without its closing
 * parenthesis and a lone dollar stay. Values are not expanded again. Source: vectors env-expansion.
 */
export function expand(text: string, lookup: Lookup): string {
  let out = '';
  let done = 0;
  const lastClose = text.lastIndexOf(')');
  for (let at = text.indexOf('$'); at >= 0; at = text.indexOf('$', done)) {
    out += text.slice(done, at);
    const end = text[at + 1] === '(' && at < lastClose ? text.indexOf(')', at + 2) : -1;
    if (end >= 0) {
      const name = text.slice(at + 2, end);
      out += lookup(name) ?? `$(${name})`;
      done = end + 1;
    } else {
      // `$$` becomes one dollar; `$x` and an unclosed `$(` stay, and the second character is not looked at again.
      const escaped = text[at + 1] === '$';
      out += escaped ? '$' : text.slice(at, at + 2);
      done = at + 2;
    }
  }
  return out + text.slice(done);
}

/** A lookup through a chain of maps: the first that has the name wins. */
export function lookupIn(...maps: readonly ReadonlyMap<string, string>[]): Lookup {
  return (name) => maps.find((map) => map.has(name))?.get(name);
}

/** Name to value; the last of equal names wins, and one without a value of its own counts as empty. */
export function envMap(env: readonly { name: string; value?: string }[]): Map<string, string> {
  return new Map(env.map(({ name, value }) => [name, value ?? '']));
}

function expandAll(texts: readonly string[] | null | undefined, lookup: Lookup): string[] | undefined {
  if (texts === null || texts === undefined || texts.length === 0) return undefined;
  return texts.map((text) => expand(text, lookup));
}

/** The command and arguments of a container with the final environment put in; undefined where the list is empty. */
export function expandCommandAndArgs(
  container: { command?: string[] | null; args?: string[] | null },
  env: readonly { name: string; value?: string }[],
): { command: string[] | undefined; args: string[] | undefined } {
  const lookup = lookupIn(envMap(env));
  return { command: expandAll(container.command, lookup), args: expandAll(container.args, lookup) };
}

/** The command with only the values that stand in the pod itself; a variable with `valueFrom` counts as empty. */
export function expandStaticCommand(command: readonly string[] | null | undefined, env: readonly EnvVar[]): string[] | undefined {
  return expandAll(command, lookupIn(envMap(env)));
}

/** A volume mount's subPathExpr needs a variable that is missing or empty. */
export class SubPathExpansionError extends Error {
  readonly code = 'missing-value';
  readonly names: readonly string[];
  constructor(names: readonly string[]) {
    super(`missing value for ${names.join(', ')}`);
    this.name = 'SubPathExpansionError';
    this.names = names;
  }
}

/** The sub path of a mount. Throws SubPathExpansionError for names that are missing or empty. */
export function expandSubPath(subPathExpr: string, env: readonly { name: string; value?: string }[]): string {
  const values = envMap(env);
  const missing = new Set<string>();
  const expanded = expand(subPathExpr, (name) => {
    const value = values.get(name) ?? '';
    if (value === '') missing.add(name);
    return value;
  });
  if (missing.size > 0) throw new SubPathExpansionError([...missing].sort());
  return expanded;
}
