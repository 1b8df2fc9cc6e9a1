import { type Checker, differences, fail, pass, plain } from '../checker.ts';
import { loadText } from '../kubelet-config.ts';

let emptyFile: unknown;

function ofEmptyFile(): unknown {
  emptyFile ??= plain(loadText('apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n').config);
  return emptyFile;
}

/** Keys of the loaded configuration that differ from the empty file's; those that are gone are null. */
function changed(config: unknown): Record<string, unknown> {
  const base = ofEmptyFile() as Record<string, unknown>;
  const got = plain(config) as Record<string, unknown>;
  const out: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(base), ...Object.keys(got)])) {
    if (differences(base[key], got[key]).length > 0) out[key] = got[key] ?? null;
  }
  return out;
}

/** The fields and keys that the real decoder complains about before it decodes leniently. */
function complaints(warnings: unknown): string[] {
  if (!Array.isArray(warnings)) return [];
  const text = warnings.join('\n').replaceAll('\\"', '"');
  const named = [...text.matchAll(/(?:unknown|duplicate) field "([^"]*)"/g), ...text.matchAll(/key "([^"]*)" already set in map/g)];
  return named.map((m) => m[1] ?? '').sort();
}

const lastName = (path: string): string => /[^.[\]]+(?=\]?$)/.exec(path)?.[0] ?? path;

export const check: Checker = (c) => {
  const { file } = c.in;
  if (typeof file !== 'string') return fail('in.file is no text');
  const got = loadText(file);
  if (c.error !== undefined) return got.faults.length > 0 ? pass : fail(`want a refusal (${c.error}), got none`);
  if (got.faults.length > 0) return fail(`refused: ${got.faults.join('; ')}`);
  const out = c.out as { config?: unknown; changed?: unknown; warnings?: unknown };
  const found =
    out.config === undefined ? differences(out.changed, changed(got.config), 'out.changed') : differences(out.config, plain(got.config));
  const want = complaints(out.warnings).map(lastName).sort();
  const have = got.complaints.map(lastName).sort();
  found.push(...differences(want, have, 'out.warnings'));
  return found.length === 0 ? pass : fail(found.slice(0, 4).join('; '));
};
