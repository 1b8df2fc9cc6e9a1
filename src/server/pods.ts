import type { Pod } from '../api/types.ts';
import type { ObservedPod } from '../pleg/types.ts';

/** What the server reads of pods. */
export interface PodView {
  /** Every pod that the agent was told about, with its status; no mirror pods. */
  all(): Pod[];
  /** What the runtime last had of a pod. */
  observed(uid: string): ObservedPod | undefined;
  observedAll(): Iterable<ObservedPod>;
  /** The UID of the static pod of which `uid` is the mirror pod; other UIDs as they are. */
  staticUid(uid: string): string;
}

export function findPod(view: PodView, namespace: string, name: string): Pod | undefined {
  return view.all().find((p) => p.metadata.name === name && p.metadata.namespace === namespace);
}

/** The id of the running container of that name; undefined when there is none. */
export function runningContainer(view: PodView, uid: string, container: string): string | undefined {
  return view.observed(uid)?.containers.find((c) => c.name === container && c.state === 'running')?.id;
}

/** The id of the newest sandbox that is ready. */
export function readySandbox(view: PodView, uid: string): string | undefined {
  return view.observed(uid)?.sandboxes.find((s) => s.state === 'ready')?.id;
}

/** The answer of /runningpods/: what runs, as far as the runtime tells it (contract http-api §4). */
export function runningPods(view: PodView): unknown {
  const items: unknown[] = [];
  for (const { uid, name, namespace, containers } of view.observedAll()) {
    const running = containers.filter((c) => c.state === 'running');
    if (running.length === 0) continue;
    items.push({
      metadata: { name, namespace, uid },
      spec: { containers: running.map((c) => ({ name: c.name, image: c.status.image.image, resources: {} })) },
      status: {},
    });
  }
  return { kind: 'PodList', apiVersion: 'v1', metadata: {}, items };
}
