import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const project = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

/** Paths, relative to the project, of all .ts files below `folder`; none when it is missing. */
export function typescriptFiles(folder: string): string[] {
  if (!existsSync(join(project, folder))) return [];
  return readdirSync(join(project, folder), { recursive: true, withFileTypes: true })
    .filter((e) => e.isFile() && e.name.endsWith('.ts'))
    .map((e) => relative(project, join(e.parentPath, e.name)))
    .sort();
}

export function read(path: string): string {
  return readFileSync(join(project, path), 'utf8');
}

/** Module names that a source imports or exports from, also types and lazily loaded ones. */
export function importsOf(text: string): string[] {
  const pattern = /(?:^|[\s;}])(?:import|export)\b(?:[^'"`;]*?\bfrom)?\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/g;
  return [...text.matchAll(pattern)].map((m) => m[1] ?? m[2] ?? '');
}
