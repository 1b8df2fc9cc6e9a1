import type { PodUid } from '../api/brands.ts';
import { podUid } from '../api/brands.ts';
import { isMirrorPod, isStaticPod } from '../api/pod.ts';
import type { Pod } from '../api/types.ts';
import type { Clock } from '../host/clock.ts';
import { Pause } from '../host/pause.ts';
import type { KubeApi } from '../kube/api.ts';
import { isKubeError } from '../kube/errors.ts';
import { deletePod, getPod, patchPodStatus } from '../kube/typed.ts';
import type { Logger } from '../observe/log.ts';
import type { Health, Service } from '../observe/service.ts';
import { isTerminalPhase } from './compute.ts';
import type { StatusManager, StoredStatus } from './manager.ts';
import { mergeForApi } from './merge.ts';
import { statusPatch } from './status-patch.ts';
import { isoSeconds } from './times.ts';

/** Contract pod-lifecycle §14: a change at once, and a full pass each ten seconds. */
const FULL_PASS_MS = 10_000;
/** A change that nobody waits for is held back this long: more of the same pod may follow, and go with it. */
const COALESCE_MS = 200;
/** How many pods are written side by side; the client's own limit of requests comes on top. */
const PARALLEL = 8;

export interface ApiStatusWriterDeps {
  api: KubeApi;
  statuses: StatusManager;
  clock: Clock;
  log: Logger;
  /** The API server's copy of a pod as the informer last saw it: the pod itself, or the mirror of a static pod. */
  apiPod(pod: Pod): Pod | undefined;
  /** A container of the pod may still run. */
  mayRun(uid: PodUid): boolean;
  metrics?: { statusSynced(seconds: number): void };
  accepted?(pod: Pod): void;
}

/**
 * Brings the statuses to the API server: the newest of each pod, coalesced, pods that became ready first; and deletes a
 * pod there once it was asked to go and nothing of it is left here. Patches name only what differs.
 */
export class ApiStatusWriter implements Service {
  readonly name = 'status-writer';
  readonly #deps: ApiStatusWriterDeps;
  readonly #pause: Pause;
  /** The API server's answer to our last write: newer than the informer's copy for a moment. */
  readonly #answers = new Map<PodUid, Pod>();
  readonly #since = new Map<PodUid, number>();
  readonly #queue = new Set<PodUid>();
  readonly #busy = new Set<PodUid>();
  #loop: Promise<void> = Promise.resolve();
  #fault: string | undefined;

  constructor(deps: ApiStatusWriterDeps) {
    this.#deps = deps;
    this.#pause = new Pause(deps.clock);
  }

  start(signal: AbortSignal): void {
    const unsubscribe = this.#deps.statuses.subscribe({ statusChanged: (uid) => this.touch(uid) });
    signal.addEventListener('abort', unsubscribe, { once: true });
    this.#loop = this.#run(signal);
  }

  ready(): Promise<void> {
    return Promise.resolve();
  }

  health(): Health {
    return this.#fault === undefined ? { ok: true } : { ok: false, reason: this.#fault };
  }

  async stop(): Promise<void> {
    await this.#loop;
  }

  /** Looks at a pod again: its status changed here, or its API object did. */
  touch(uid: PodUid): void {
    if (!this.#since.has(uid)) this.#since.set(uid, this.#deps.clock.monotonic());
    this.#queue.add(uid);
    this.#pause.poke();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, statuses } = this.#deps;
    const underWay = new Set<Promise<void>>();
    let lastPass = clock.monotonic();
    while (!signal.aborted) {
      if (clock.monotonic() - lastPass >= FULL_PASS_MS) {
        lastPass = clock.monotonic();
        for (const [uid] of statuses.entries()) this.#queue.add(uid);
        for (const uid of this.#answers.keys()) if (statuses.entry(uid) === undefined) this.#forget(uid);
      }
      for (const uid of this.#next(PARALLEL - underWay.size)) {
        this.#queue.delete(uid);
        this.#busy.add(uid);
        const work = this.#write(uid, signal).finally(() => {
          this.#busy.delete(uid);
          underWay.delete(work);
          this.#pause.poke();
        });
        underWay.add(work);
      }
      await this.#pause.wait(Math.max(1, Math.min(lastPass + FULL_PASS_MS, this.#firstDue()) - clock.monotonic()), signal);
    }
    await Promise.all(underWay);
  }

  /** Whose turn it is: those that became ready (or lost it) before the others. */
  #next(room: number): PodUid[] {
    const now = this.#deps.clock.monotonic();
    const free = [...this.#queue].filter((uid) => !this.#busy.has(uid) && this.#dueAt(uid) <= now);
    if (free.length <= room) return free;
    return free.sort((a, b) => Number(this.#readyDiffers(b)) - Number(this.#readyDiffers(a))).slice(0, Math.max(0, room));
  }

  /** When the next held back change is to go. */
  #firstDue(): number {
    return Math.min(...[...this.#queue].filter((uid) => !this.#busy.has(uid)).map((uid) => this.#dueAt(uid)));
  }

  /** At once: what others wait for (ready or not, ended, gone), and what is written again. */
  #dueAt(uid: PodUid): number {
    const since = this.#since.get(uid);
    const entry = this.#deps.statuses.entry(uid);
    if (since === undefined || entry === undefined || entry.finished) return 0;
    return isTerminalPhase(entry.status.phase) || this.#readyDiffers(uid) ? 0 : since + COALESCE_MS;
  }

  #readyDiffers(uid: PodUid): boolean {
    const entry = this.#deps.statuses.entry(uid);
    const api = entry === undefined ? undefined : this.#apiPod(entry.pod);
    const ready = (pod: Pod['status']) => pod?.conditions?.find((c) => c.type === 'Ready')?.status === 'True';
    return ready(entry?.status) !== ready(api?.status);
  }

  #apiPod(pod: Pod): Pod | undefined {
    const seen = this.#deps.apiPod(pod);
    const answer = this.#answers.get(podUid(pod.metadata.uid));
    if (answer === undefined || seen === undefined || answer.metadata.uid !== seen.metadata.uid) return seen;
    return Number(answer.metadata.resourceVersion) > Number(seen.metadata.resourceVersion) ? answer : seen;
  }

  async #write(uid: PodUid, signal: AbortSignal): Promise<void> {
    const entry = this.#deps.statuses.entry(uid);
    if (entry === undefined) return this.#forget(uid);
    const api = this.#apiPod(entry.pod);
    if (api === undefined) return;
    try {
      await this.#patch(uid, entry, api, signal);
      await this.#deleteIfOver(uid, entry, api, signal);
      this.#fault = undefined;
    } catch (err) {
      if (!signal.aborted) await this.#failed(uid, entry, api, err, signal);
    }
  }

  async #patch(uid: PodUid, entry: StoredStatus, api: Pod, signal: AbortSignal): Promise<void> {
    const { clock, mayRun, metrics, accepted } = this.#deps;
    const held = api.status ?? {};
    const status = mergeForApi(entry.pod, held, entry.status, mayRun(uid), isoSeconds(clock.now()));
    const body = statusPatch(held, status);
    if (body !== undefined) {
      const { namespace, name, uid: apiUid } = api.metadata;
      const answer = await patchPodStatus(this.#deps.api, namespace, name, { metadata: { uid: apiUid }, status: body }, { signal });
      this.#answers.set(uid, answer);
      accepted?.(entry.pod);
    }
    const since = this.#since.get(uid);
    if (since !== undefined && body !== undefined) metrics?.statusSynced((clock.monotonic() - since) / 1000);
    this.#since.delete(uid);
  }

  /** Contract pod-lifecycle §4: DELETE with grace 0 when it was asked for and nothing of the pod is left on the node. */
  async #deleteIfOver(uid: PodUid, entry: StoredStatus, api: Pod, signal: AbortSignal): Promise<void> {
    const asked = typeof api.metadata.deletionTimestamp === 'string';
    if (!asked || isStaticPod(entry.pod) || isMirrorPod(api) || !entry.finished) return;
    if (this.#deps.mayRun(uid) || !isTerminalPhase(entry.status.phase)) return;
    const { namespace, name, uid: apiUid } = api.metadata;
    await deletePod(this.#deps.api, namespace, name, apiUid, 0, { signal });
    this.#deps.log.debug(3, 'Pod fully terminated and removed from etcd', { pod: `${namespace}/${name}` });
  }

  async #failed(uid: PodUid, entry: StoredStatus, api: Pod, err: unknown, signal: AbortSignal): Promise<void> {
    const { namespace, name } = api.metadata;
    this.#answers.delete(uid);
    if (isKubeError(err, 'NotFound')) {
      this.#deps.log.debug(3, 'Pod does not exist on the server', { pod: `${namespace}/${name}`, podUID: uid });
      return;
    }
    if (isKubeError(err, 'Conflict', 'Invalid')) {
      // Another object of that name, or a patch against an old copy: look at what is there now before the next try.
      const fresh = await getPod(this.#deps.api, namespace, name, { signal }).catch(() => undefined);
      if (fresh === undefined || fresh.metadata.uid !== api.metadata.uid) return;
      this.#answers.set(uid, fresh);
      if (isKubeError(err, 'Conflict')) this.#queue.add(uid);
    }
    this.#fault = `writing pod statuses: ${err instanceof Error ? err.message : String(err)}`;
    this.#deps.log.error(err, 'Failed to update status for pod', { pod: `${namespace}/${name}`, podUID: uid, version: entry.version });
  }

  #forget(uid: PodUid): void {
    this.#answers.delete(uid);
    this.#since.delete(uid);
  }
}
