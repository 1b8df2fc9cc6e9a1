import type { YamlNode } from './yaml-tree.ts';

const SEGMENT = /\[([^\]]*)\]|[^.[\]]+/g;

/**
 * The place of a field that Kubernetes names, e.g. `spec.containers[0].name`: that of its value, or of the deepest
 * holder that the manifest has.
 */
export function locate(root: YamlNode, field: string): { line: number; column: number } {
  let node = root;
  let place = { line: root.line, column: root.column };
  for (const [segment, bracketed] of field.matchAll(SEGMENT)) {
    const next = step(node, bracketed ?? segment);
    if (!next) return place;
    node = next.value;
    place = next.place;
  }
  return place;
}

function step(node: YamlNode, key: string): { value: YamlNode; place: { line: number; column: number } } | undefined {
  if (node.kind === 'list') {
    const value = /^\d+$/.test(key) ? node.items[Number(key)] : undefined;
    return value && { value, place: value };
  }
  if (node.kind !== 'map') return undefined;
  const entry = node.entries.get(key);
  // A nested value stands lines below its key; the key is what the eye looks for.
  return entry && { value: entry.value, place: entry.value.kind === 'scalar' ? entry.value : entry.key };
}
