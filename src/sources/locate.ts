import type { ManifestNode, Place } from './manifest-node.ts';

const SEGMENT = /\[([^\]]*)\]|[^.[\]]+/g;

/**
 * The place of a field that Kubernetes names, e.g. `spec.containers[0].name`: that of its value, or of the deepest
 * holder that the manifest has.
 */
export function locate(root: ManifestNode, field: string): Place {
  let node = root;
  let place = placeOf(root);
  for (const [segment, bracketed] of field.matchAll(SEGMENT)) {
    const next = step(node, bracketed ?? segment);
    if (!next) return place;
    node = next.value;
    place = next.place;
  }
  return place;
}

function step(node: ManifestNode, key: string): { value: ManifestNode; place: Place } | undefined {
  if (node.kind === 'list') {
    const value = /^\d+$/.test(key) ? node.items[Number(key)] : undefined;
    return value && { value, place: placeOf(value) };
  }
  if (node.kind !== 'map') return undefined;
  const entry = node.entries.get(key);
  // A nested value stands lines below its key; the key is what the eye looks for.
  return entry && { value: entry.value, place: placeOf(entry.value.kind === 'scalar' ? entry.value : entry.key) };
}

function placeOf({ line, column }: Place): Place {
  return { line, column };
}
