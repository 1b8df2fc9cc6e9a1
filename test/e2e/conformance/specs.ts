import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What the Go kubelet v1.37.2 does on the reference host. INTR: interrupted, not measured. */
export type GoStatus = 'pass' | 'FAIL' | 'skip' | 'INTR';

/** A spec of the suite. */
export interface Spec {
  area: string;
  go: GoStatus;
  /** How long the Go kubelet took. */
  seconds: number;
  /** The full text, by which ginkgo focuses. */
  name: string;
}

/** The three ways in which specs may run: side by side, slow ones side by side, those that change the node alone. */
export type Mode = 'parallel' | 'slow' | 'serial';

/** The list that counts, from specs.tsv: file, status, seconds and name of each spec. */
export function readSpecs(text = readFileSync(join(import.meta.dirname, 'specs.tsv'), 'utf8')): Spec[] {
  const specs: Spec[] = [];
  for (const [i, line] of text.split('\n').entries()) {
    if (line === '' || line.startsWith('#')) continue;
    const [file, go, seconds, name] = line.split('\t');
    if (file === undefined || go === undefined || name === undefined || !isStatus(go)) throw new Error(`specs.tsv:${i + 1}: not a spec`);
    specs.push({ area: areaOf(file), go, seconds: Number(seconds), name: specText(name) });
  }
  return specs;
}

function isStatus(text: string): text is GoStatus {
  return ['pass', 'FAIL', 'skip', 'INTR'].includes(text);
}

/** `e2e_node/mount_rro_linux_test.go` is the area mount_rro; `?` is other. */
export function areaOf(file: string): string {
  const base = file.slice(file.lastIndexOf('/') + 1);
  return base === '?'
    ? 'other'
    : base
        .replace(/\.go$/, '')
        .replace(/_test$/, '')
        .replace(/_linux$/, '');
}

/** A name without the version constraint that ginkgo puts behind it in reports, as `[kubelet: [>=1.36]]`. */
export function specText(name: string): string {
  return name.replace(/ \[[a-z]+: \[[^\]]*\]\]$/, '').trim();
}

export function modeOf(spec: Spec): Mode {
  if (/\[(Serial|Disruptive)\]/.test(spec.name)) return 'serial';
  return spec.name.includes('[Slow]') ? 'slow' : 'parallel';
}

/** The specs of the named areas that the Go kubelet passes. Throws on a name that is no area. */
export function specsOfAreas(specs: readonly Spec[], areas: readonly string[]): Spec[] {
  const known = new Set(specs.map((s) => s.area));
  const unknown = areas.filter((a) => !known.has(a));
  if (unknown.length > 0) throw new Error(`no area ${unknown.join(', ')}; there are ${[...known].sort().join(', ')}`);
  return specs.filter((s) => s.go === 'pass' && areas.includes(s.area));
}

/** All specs whose name matches. */
export function specsMatching(specs: readonly Spec[], pattern: RegExp): Spec[] {
  return specs.filter((s) => pattern.test(s.name));
}

/** A regular expression of ginkgo's (Go's syntax) for exactly this name. */
export function focusOf(spec: Spec): string {
  return `${spec.name.replace(/[\\.+*?()|[\]{}^$]/g, '\\$&')}$`;
}
