import { readJson } from './json-tree.ts';
import { ManifestError } from './manifest-error.ts';
import type { DuplicateKeys, ManifestTree } from './manifest-node.ts';
import { readYaml } from './yaml-tree.ts';

const STRICT_UTF8 = new TextDecoder('utf-8', { fatal: true });
const LOOSE_UTF8 = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * Reads a manifest's bytes as Kubernetes does: what begins with a brace is JSON and nothing else, anything else is YAML.
 * Throws ManifestError: syntax, duplicate-key, alias, nesting.
 */
export function readTree(data: string | Uint8Array, file: string, duplicates: DuplicateKeys = 'refuse'): ManifestTree {
  const loose = typeof data === 'string' ? data : LOOSE_UTF8.decode(data);
  if (/^\s*\{/.test(loose)) {
    const json = loose.toWellFormed();
    return { root: readJson(json, file, duplicates), json };
  }
  return { root: readYaml(yamlText(data, file), file, duplicates), json: undefined };
}

function yamlText(data: string | Uint8Array, file: string): string {
  let text: string;
  try {
    text = typeof data === 'string' ? data : STRICT_UTF8.decode(data);
  } catch {
    throw new ManifestError({ code: 'syntax', file, line: 1, column: 1, problem: 'is not UTF-8 text', remedy: 'is it a binary file?' });
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what YAML does not allow
  const at = text.search(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]/);
  if (at < 0) return text;
  const before = text.slice(0, at).split('\n');
  const place = { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
  const code = `U+${text.charCodeAt(at).toString(16).padStart(4, '0').toUpperCase()}`;
  throw new ManifestError({
    code: 'syntax',
    file,
    ...place,
    problem: `contains the control character ${code}`,
    remedy: 'is it a binary file?',
  });
}
