import { dirname, join, normalize } from 'node:path';
import { importsOf } from './sourceFiles.ts';

/** The rooms of src/, lowest layer first. A file imports from its own room and from earlier layers only. */
export const LAYERS: readonly (readonly string[])[] = [
  ['api'],
  ['compat', 'observe', 'proto'],
  ['host', 'config'],
  ['cri', 'kube'],
  ['objects', 'images', 'containers', 'volumes', 'resources', 'probes', 'pleg'],
  ['admission', 'sync', 'status'],
  ['pods'],
  ['stats', 'sources', 'plugins'],
  ['eviction', 'node', 'security', 'doctor'],
  ['server'],
  ['kubelet'],
  ['cli'],
  ['main'],
];

/** The room of a path relative to the project: `src/cri/x.ts` is `cri`, `src/main.ts` is `main`. */
export function roomOf(path: string): string {
  return (path.split('/')[1] ?? '').replace(/\.ts$/, '');
}

/** What is wrong with the imports of one file of src/: one line each. */
export function layerFaults(path: string, text: string): string[] {
  const room = roomOf(path);
  const layer = LAYERS.findIndex((rooms) => rooms.includes(room));
  if (layer < 0) return [`${path}: room "${room}" is in no layer`];
  const faults: string[] = [];
  for (const name of importsOf(text)) {
    if (!name.startsWith('.')) continue;
    const target = normalize(join(dirname(path), name));
    if (!target.startsWith('src/')) {
      if (!/^(package\.json|proto\/)/.test(target)) faults.push(`${path}: imports ${target}, which is outside src/`);
      continue;
    }
    if (!target.endsWith('.ts') && !target.endsWith('.json')) faults.push(`${path}: import of ${name} lacks its extension`);
    const other = roomOf(target);
    if (other === room) continue;
    const otherLayer = LAYERS.findIndex((rooms) => rooms.includes(other));
    if (otherLayer < 0) faults.push(`${path}: imports ${target}, whose room is in no layer`);
    else if (otherLayer === layer) faults.push(`${path}: imports ${target}, a room of its own layer`);
    else if (otherLayer > layer) faults.push(`${path}: imports ${target}, a later layer`);
  }
  return faults;
}
