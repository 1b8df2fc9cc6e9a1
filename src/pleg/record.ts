import { ContainerNameLabel, PodUidLabel } from '../api/annotations.ts';
import { type PodUid, podUid } from '../api/brands.ts';
import type { Container, PodSandbox } from '../cri/types.ts';
import type { PodLifecycleEvent } from './types.ts';

type MemberState = 'running' | 'exited' | 'unknown';

/** What one list said of one pod: the state of each member by id. */
export interface PodRecord {
  uid: PodUid;
  name: string;
  namespace: string;
  sandboxes: Map<string, MemberState>;
  containers: Map<string, MemberState>;
}

/** The whole node by pod UID, from one pair of lists. Members without the pod labels are not ours. */
export function recordsOf(sandboxes: readonly PodSandbox[], containers: readonly Container[]): Map<PodUid, PodRecord> {
  const records = new Map<PodUid, PodRecord>();
  const record = (uid: string, name: string, namespace: string): PodRecord => {
    const key = podUid(uid);
    let found = records.get(key);
    if (found === undefined) {
      found = { uid: key, name, namespace, sandboxes: new Map(), containers: new Map() };
      records.set(key, found);
    }
    if (found.name === '') Object.assign(found, { name, namespace });
    return found;
  };
  for (const s of sandboxes) {
    const uid = s.labels[PodUidLabel] ?? s.metadata.uid;
    if (uid !== '') record(uid, s.metadata.name, s.metadata.namespace).sandboxes.set(s.id, s.state === 'ready' ? 'running' : 'exited');
  }
  for (const c of containers) {
    const uid = c.labels[PodUidLabel];
    if (uid === undefined || uid === '' || c.labels[ContainerNameLabel] === undefined) continue;
    const name = c.labels['io.kubernetes.pod.name'] ?? '';
    const namespace = c.labels['io.kubernetes.pod.namespace'] ?? '';
    record(uid, name, namespace).containers.set(c.id, c.state === 'running' ? 'running' : c.state === 'exited' ? 'exited' : 'unknown');
  }
  return records;
}

/** The events that lead from one record of a pod to the next (contract: pod-lifecycle §15). Either may be missing. */
export function eventsBetween(before: PodRecord | undefined, after: PodRecord | undefined): PodLifecycleEvent[] {
  const uid = (after ?? before)?.uid;
  if (uid === undefined) return [];
  const events: PodLifecycleEvent[] = [];
  const compare = (old: ReadonlyMap<string, MemberState> | undefined, now: ReadonlyMap<string, MemberState> | undefined) => {
    for (const [id, state] of now ?? []) {
      const was = old?.get(id);
      if (was === state) continue;
      if (state === 'running') events.push({ uid, type: 'ContainerStarted', id });
      else if (state === 'exited') events.push({ uid, type: 'ContainerDied', id });
    }
    for (const [id, was] of old ?? []) {
      if (now?.has(id)) continue;
      if (was !== 'exited') events.push({ uid, type: 'ContainerDied', id });
      events.push({ uid, type: 'ContainerRemoved', id });
    }
  };
  compare(before?.sandboxes, after?.sandboxes);
  compare(before?.containers, after?.containers);
  return events;
}

/** True when anything of the pod may still be alive. */
export function hasLiveMember(record: PodRecord): boolean {
  for (const state of record.sandboxes.values()) if (state === 'running') return true;
  for (const state of record.containers.values()) if (state !== 'exited') return true;
  return false;
}
