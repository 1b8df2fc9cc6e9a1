import { ConfigHashAnnotation, ConfigMirrorAnnotation } from '../api/annotations.ts';
import { podFullName } from '../api/pod.ts';
import type { Pod } from '../api/types.ts';
import type { KubeApi } from '../kube/api.ts';
import { isKubeError } from '../kube/errors.ts';
import { createPod, deletePod } from '../kube/typed.ts';
import type { Logger } from '../observe/log.ts';

export interface MirrorPodsDeps {
  api: KubeApi;
  log: Logger;
  nodeName: string;
  /** UID of the node's object; undefined while unknown, or when the object is being deleted: no mirror is made then. */
  nodeUid(): string | undefined;
}

/** The copies of static pods in the API server (contract: pod-lifecycle §2). Failures are logged and tried again later. */
export class MirrorPods {
  readonly #deps: MirrorPodsDeps;
  /** By full name, as the informer last saw them. */
  #mirrors = new Map<string, Pod>();
  readonly #busy = new Set<string>();

  constructor(deps: MirrorPodsDeps) {
    this.#deps = deps;
  }

  /** Takes all mirrors that the API server has; returns the full names of those that changed. */
  seen(mirrors: readonly Pod[]): string[] {
    const next = new Map(mirrors.map((m) => [podFullName(m), m]));
    const changed = [...new Set([...this.#mirrors.keys(), ...next.keys()])].filter((name) => this.#mirrors.get(name) !== next.get(name));
    this.#mirrors = next;
    return changed;
  }

  of(pod: Pod): Pod | undefined {
    return this.#mirrors.get(podFullName(pod));
  }

  /** Makes the mirror of a static pod where it is missing; replaces one that is another pod's or on its way out. */
  async ensure(pod: Pod, signal: AbortSignal): Promise<void> {
    const name = podFullName(pod);
    if (this.#busy.has(name)) return;
    this.#busy.add(name);
    try {
      const mirror = this.#mirrors.get(name);
      if (mirror !== undefined && isMirrorOf(mirror, pod) && typeof mirror.metadata.deletionTimestamp !== 'string') return;
      if (mirror !== undefined) await this.#delete(mirror, signal);
      await this.#create(pod, signal);
    } finally {
      this.#busy.delete(name);
    }
  }

  /** Deletes mirrors of which `isWanted` says no. */
  async sweep(isWanted: (mirror: Pod) => boolean, signal: AbortSignal): Promise<void> {
    for (const mirror of this.#mirrors.values()) if (!isWanted(mirror)) await this.#delete(mirror, signal);
  }

  async #create(pod: Pod, signal: AbortSignal): Promise<void> {
    const { api, nodeUid, nodeName, log } = this.#deps;
    const uid = nodeUid();
    if (uid === undefined) return;
    const { namespace, name } = pod.metadata;
    log.debug(3, 'Creating a mirror pod for static pod', { pod: `${namespace}/${name}` });
    try {
      const made = await createPod(api, mirrorPod(pod, nodeName, uid), namespace, { signal });
      if (!this.#mirrors.has(podFullName(pod))) this.#mirrors.set(podFullName(pod), made);
    } catch (err) {
      // Another run's, which the informer has not brought yet.
      if (signal.aborted || isKubeError(err, 'AlreadyExists')) return;
      log.error(err, 'Failed creating a mirror pod', { pod: `${namespace}/${name}` });
    }
  }

  async #delete(mirror: Pod, signal: AbortSignal): Promise<void> {
    const { api, log } = this.#deps;
    const { namespace, name, uid } = mirror.metadata;
    log.debug(2, 'Deleting a mirror pod', { pod: `${namespace}/${name}`, podUID: uid });
    try {
      await deletePod(api, namespace, name, uid, 0, { signal });
      this.#mirrors.delete(podFullName(mirror));
    } catch (err) {
      if (isKubeError(err, 'NotFound')) this.#mirrors.delete(podFullName(mirror));
      else if (!signal.aborted) log.error(err, 'Failed deleting a mirror pod', { pod: `${namespace}/${name}` });
    }
  }
}

const hashOf = (pod: Pod) => pod.metadata.annotations?.[ConfigHashAnnotation];

/** The mirror carries the hash of the static pod that it shows. */
export function isMirrorOf(mirror: Pod, pod: Pod): boolean {
  return mirror.metadata.annotations?.[ConfigMirrorAnnotation] === hashOf(pod);
}

/** What is sent to the API server for a static pod. */
export function mirrorPod(pod: Pod, nodeName: string, nodeUid: string): object {
  const { name, namespace, labels, annotations } = pod.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      ...(labels === undefined ? {} : { labels }),
      annotations: { ...annotations, [ConfigMirrorAnnotation]: hashOf(pod) ?? '' },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid: nodeUid, controller: true }],
    },
    spec: pod.spec,
  };
}
