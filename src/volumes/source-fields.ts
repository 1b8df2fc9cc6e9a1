import { VolumeError } from './volume-error.ts';

/** Contract node.md §10. */
const DefaultMode = 0o644;

/** A part of a volume's source as it came from outside. */
export type Source = Readonly<Record<string, unknown>>;

/** One file of a configMap or a secret. */
export interface KeyToPath {
  key: string;
  path: string;
  mode: number | undefined;
}

export function sourceOf(value: unknown): Source {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Source) : {};
}

export function sourcesOf(value: unknown): Source[] {
  return Array.isArray(value) ? value.map(sourceOf) : [];
}

/** True when the source names `key`, with null as absent. */
export function has(source: Source, key: string): boolean {
  return source[key] !== undefined && source[key] !== null;
}

export function textField(source: Source, key: string): string {
  const value = source[key];
  return typeof value === 'string' ? value : '';
}

/** Permission bits. Throws VolumeError when it is no such number. */
export function modeField(source: Source, key: string): number | undefined {
  const value = source[key];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 0o777) return value;
  throw new VolumeError('invalid', `${key} is no file mode between 0 and 0777`);
}

export function defaultModeOf(source: Source): number {
  return modeField(source, 'defaultMode') ?? DefaultMode;
}

export function isOptional(source: Source): boolean {
  return source['optional'] === true;
}

export function itemsOf(source: Source): KeyToPath[] {
  return sourcesOf(source['items']).map((item) => ({
    key: textField(item, 'key'),
    path: textField(item, 'path'),
    mode: modeField(item, 'mode'),
  }));
}
