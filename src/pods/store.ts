import { isDeepStrictEqual } from 'node:util';
import { ConfigMirrorAnnotation, ConfigSeenAnnotation, ConfigSourceAnnotation } from '../api/annotations.ts';
import { type PodUid, podUid } from '../api/brands.ts';
import type { Pod } from '../api/types.ts';

export interface SetChanges {
  added: Pod[];
  updated: Pod[];
  removed: Pod[];
  /** Only the status, or what nobody here reads, is different. */
  reconciled: Pod[];
  /** The set as it was. */
  before: ReadonlyMap<PodUid, Pod>;
}

/** The desired pods of every source. A source delivers full sets; what changed against its last one comes back. */
export class PodStore {
  readonly #sources = new Map<string, Map<PodUid, Pod> | undefined>();

  /** `sources`: all that are configured. */
  constructor(sources: readonly string[]) {
    for (const name of sources) this.#sources.set(name, undefined);
  }

  /** True once every source has delivered a set: before that nothing is stopped for being unknown. */
  get ready(): boolean {
    return [...this.#sources.values()].every((set) => set !== undefined);
  }

  applySet(source: string, pods: readonly Pod[]): SetChanges {
    const before = this.#sources.get(source) ?? new Map<PodUid, Pod>();
    const after = new Map(pods.map((p) => [podUid(p.metadata.uid), p]));
    const changes: SetChanges = { added: [], updated: [], removed: [], reconciled: [], before };
    for (const [uid, pod] of after) {
      const old = before.get(uid);
      if (old === pod) continue;
      if (old === undefined) changes.added.push(pod);
      else if (isChange(old, pod)) changes.updated.push(pod);
      else if (isDeepStrictEqual(old.status, pod.status)) after.set(uid, old);
      else changes.reconciled.push(pod);
    }
    for (const [uid, pod] of before) if (!after.has(uid)) changes.removed.push(pod);
    this.#sources.set(source, after);
    return changes;
  }

  get(uid: PodUid): Pod | undefined {
    for (const set of this.#sources.values()) {
      const pod = set?.get(uid);
      if (pod !== undefined) return pod;
    }
    return undefined;
  }

  has(uid: PodUid): boolean {
    return this.get(uid) !== undefined;
  }

  all(): Pod[] {
    return [...this.#sources.values()].flatMap((set) => [...(set?.values() ?? [])]);
  }
}

/** Contract pod-lifecycle §1, "what counts as a change". */
function isChange(a: Pod, b: Pod): boolean {
  return !isDeepStrictEqual(essence(a), essence(b));
}

function essence(pod: Pod): unknown {
  const { labels, annotations, deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata;
  const ours = new Set([ConfigSourceAnnotation, ConfigMirrorAnnotation, ConfigSeenAnnotation]);
  const kept = Object.entries(annotations ?? {}).filter(([key]) => !ours.has(key));
  return [pod.spec, Object.entries(labels ?? {}).sort(), kept.sort(), deletionTimestamp ?? null, deletionGracePeriodSeconds ?? null];
}
