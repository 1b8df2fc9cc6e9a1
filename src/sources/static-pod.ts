import { ConfigHashAnnotation } from '../api/annotations.ts';
import type { Pod, Toleration } from '../api/types.ts';
import { fnv1aHash128Hex } from '../compat/fnv.ts';
import { dumpPod } from '../compat/go-dump.ts';

/** Where a manifest came from, as it goes into the UIDs of its pods. */
export interface ManifestOrigin {
  kind: 'file' | 'http';
  /** The file's path or the URL. */
  location: string;
  nodeName: string;
}

/** The text whose FNV-1a-128 is the UID of a static pod: the defaulted pod as Go prints it, and where it came from. */
export function staticPodHashedText(pod: Pod, origin: ManifestOrigin): string {
  const { kind, location, nodeName } = origin;
  return dumpPod(pod) + (kind === 'file' ? `host:${nodeName}file:${location}` : `url:${location}`);
}

/**
 * Makes a defaulted pod from a manifest this node's own, in place: uid, name, namespace, nodeName, the config.hash
 * annotation, phase Pending and, for the file source only, the toleration of every NoExecute taint
 * (contract: pod-lifecycle.md §1).
 */
export function makeStaticPod(pod: Pod, origin: ManifestOrigin): void {
  const { metadata } = pod;
  metadata.uid ||= fnv1aHash128Hex(staticPodHashedText(pod, origin));
  metadata.name = `${metadata.name}-${origin.nodeName.toLowerCase()}`;
  metadata.namespace ||= 'default';
  pod.spec.nodeName = origin.nodeName;
  metadata.annotations = Object.assign(Object.create(null), metadata.annotations, { [ConfigHashAnnotation]: metadata.uid });
  if (origin.kind === 'file') pod.spec.tolerations = tolerateNoExecute(pod.spec.tolerations ?? []);
  pod.status = { ...pod.status, phase: 'Pending' };
}

/** Replaces one that differs in its seconds only. */
function tolerateNoExecute(given: Toleration[]): Toleration[] {
  const added: Toleration = { operator: 'Exists', effect: 'NoExecute' };
  const isSame = (t: Toleration) => t.operator === added.operator && t.effect === added.effect && !t.key && !t.value;
  return given.some(isSame) ? given.map((t) => (isSame(t) ? added : t)) : [...given, added];
}
