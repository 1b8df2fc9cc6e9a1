import type { Pod } from '../api/types.ts';
import type { ManifestFault } from './manifest-error.ts';

/** A pod and the manifest that gives it. */
export interface FilePod {
  pod: Pod;
  file: string;
}

/** Of pods with the same namespace and name the first one stays; each later one comes back with its fault. */
export function dropDuplicates(found: readonly FilePod[]): { kept: FilePod[]; dropped: (FilePod & { fault: ManifestFault })[] } {
  const first = new Map<string, FilePod>();
  const dropped: (FilePod & { fault: ManifestFault })[] = [];
  for (const item of found) {
    const { namespace, name } = item.pod.metadata;
    const key = `${namespace}/${name}`;
    const other = first.get(key);
    if (!other) {
      first.set(key, item);
      continue;
    }
    const problem = `the pod ${key} is already defined${other.file === item.file ? ' in it' : ` in ${other.file}`}`;
    const remedy = 'give it another name or namespace, or remove one of the two';
    dropped.push({ ...item, fault: { code: 'duplicate-pod', file: item.file, field: 'metadata.name', problem, remedy } });
  }
  return { kept: [...first.values()], dropped };
}

/** Message of the FailedValidation event of a dropped pod (contract: events.md). */
export function duplicateMessage({ metadata: { name, namespace, uid } }: Pod, source: string): string {
  return `Error validating pod ${name}_${namespace}(${uid}) from ${source} due to duplicate pod name "${name}", ignoring`;
}
