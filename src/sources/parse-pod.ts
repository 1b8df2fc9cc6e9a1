import { defaultPod } from '../api/pod-defaults.ts';
import { apiReferences } from '../api/pod-validation/api-references.ts';
import type { FieldFault } from '../api/pod-validation/field-fault.ts';
import { validatePod } from '../api/pod-validation/validate-pod.ts';
import type { Pod } from '../api/types.ts';
import { canonicalPod } from '../compat/canonical-pod.ts';
import { podType } from '../compat/go-schema.ts';
import { decodeStruct } from './decode-json.ts';
import { locate } from './locate.ts';
import { ManifestError, type ManifestErrorCode, type ManifestFault } from './manifest-error.ts';
import type { DuplicateKeys, ManifestNode, ManifestTree, MapNode } from './manifest-node.ts';
import { readTree } from './manifest-text.ts';
import { type ManifestOrigin, makeStaticPod } from './static-pod.ts';

/** Bytes of a manifest, or of the body that a URL gives. */
export const MaxManifestBytes = 10 << 20;

/** The pods of one manifest, or what is wrong with it: a manifest with a fault gives no pod. */
export interface Manifest {
  pods: Pod[];
  faults: ManifestFault[];
}

/**
 * Reads a manifest: YAML or JSON, the first document, one v1 Pod (from a URL also a PodList), with the API's defaults,
 * made this node's own, validated. Never throws for what the manifest holds.
 */
export function readManifest(data: string | Uint8Array, origin: ManifestOrigin, duplicates: DuplicateKeys = 'refuse'): Manifest {
  try {
    return readOrThrow(data, origin, duplicates);
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error;
    const { code, file, line, column, field, problem, remedy } = error;
    return { pods: [], faults: [{ code, file, line, column, field, problem, remedy }] };
  }
}

function readOrThrow(data: string | Uint8Array, origin: ManifestOrigin, duplicates: DuplicateKeys): Manifest {
  const file = origin.location;
  if (data.length > MaxManifestBytes) throw new ManifestError(tooLarge(file));
  const tree = readTree(data, file, duplicates);
  const items = podNodes(tree.root, origin);
  const pods: Pod[] = [];
  for (const { node, prefix } of items) {
    const { pod, faults } = readPod(node, origin, tree.json);
    if (faults.length > 0) return { pods: [], faults: faults.map((fault) => ({ ...fault, field: fault.field && prefix + fault.field })) };
    pods.push(pod);
  }
  return { pods, faults: [] };
}

/** The fault of a file or a body beyond the limit. */
export function tooLarge(file: string): ManifestFault {
  return { code: 'too-large', file, problem: `is larger than ${MaxManifestBytes >> 20} MiB`, remedy: 'is it a manifest?' };
}

function podNodes(root: ManifestNode | undefined, origin: ManifestOrigin): { node: ManifestNode; prefix: string }[] {
  const file = origin.location;
  const wrong = (
    at: ManifestNode | undefined,
    problem: string,
    field?: string,
    remedy = 'a manifest starts with apiVersion: v1 and kind: Pod',
  ) => new ManifestError({ code: 'wrong-kind', file, line: at?.line ?? 1, column: at?.column ?? 1, field, problem, remedy });
  if (!root || (root.kind === 'scalar' && root.value === null)) throw wrong(undefined, 'is empty');
  if (root.kind !== 'map') throw wrong(root, root.kind === 'list' ? 'is a list, not a pod' : 'is a single value, not a pod');
  const kind = header(root, 'kind');
  const version = header(root, 'apiVersion');
  if (kind.value === '') throw wrong(kind.at, 'is missing', 'kind');
  if (version.value === '') throw wrong(version.at, 'is missing', 'apiVersion');
  const isList = kind.value === 'PodList' && origin.kind === 'http';
  if (version.value !== 'v1') throw wrong(version.at, `want v1, not ${quote(version.value)}`, 'apiVersion', 'pods are of apiVersion v1');
  if (kind.value !== 'Pod' && !isList) throw wrong(kind.at, `want Pod, not ${quote(kind.value)}`, 'kind', 'only pods can be static');
  if (!isList) return [{ node: root, prefix: '' }];
  const items = root.entries.get('items')?.value;
  if (!items || (items.kind === 'scalar' && items.value === null)) return [];
  if (items.kind !== 'list')
    throw new ManifestError({ code: 'wrong-type', file, line: items.line, column: items.column, field: 'items', problem: 'want a list' });
  return items.items.map((node, i) => ({ node, prefix: `items[${i}].` }));
}

/** Kubernetes finds kind and apiVersion whatever their case; of several the last in order of the keys counts. */
function header(root: MapNode, name: string): { value: string; at: ManifestNode } {
  const keys = [...root.entries.keys()].filter((key) => key.toLowerCase() === name.toLowerCase()).sort();
  const node = root.entries.get(keys.at(-1) ?? '')?.value;
  return { value: node?.kind === 'scalar' && typeof node.value === 'string' ? node.value : '', at: node ?? root };
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 80));
}

function readPod(node: ManifestNode, origin: ManifestOrigin, json: ManifestTree['json']): { pod: Pod; faults: ManifestFault[] } {
  const file = origin.location;
  const decoded = decodeStruct(node, podType, file, json);
  const metadata = decoded['metadata'] ?? {};
  const pod = { ...decoded, metadata, spec: decoded['spec'] ?? {} } as unknown as Pod;
  const fault = (code: ManifestErrorCode, { field, problem, remedy }: FieldFault): ManifestFault => ({
    code,
    file,
    ...locate(node, field),
    field,
    problem,
    remedy,
  });
  if (!pod.metadata.name) return { pod, faults: [fault('invalid', { field: 'metadata.name', problem: 'a pod needs a name' })] };
  defaultPod(pod);
  makeStaticPod(pod, origin);
  const invalid = validatePod(pod);
  if (invalid.length > 0) return { pod, faults: invalid.map((f) => fault('invalid', f)) };
  const [reference] = apiReferences(pod);
  if (reference) return { pod, faults: [fault('forbidden', reference)] };
  return { pod: canonicalPod(pod), faults: [] };
}
