import { type PodUid, podUid } from '../api/brands.ts';
import type { Pod } from '../api/types.ts';
import type { Clock } from '../host/clock.ts';
import { Rounds } from '../host/rounds.ts';
import type { Logger } from '../observe/log.ts';
import { hasLiveMember, type PodRecord } from '../pleg/record.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { PodStore } from './store.ts';

/** Contract pod-lifecycle §16: every two seconds, only when all sources are ready. */
const PERIOD_MS = 2_000;
const DISK_EVERY = 15;
/** A pod that only the runtime knows gets one second (contract §4). */
const ORPHAN_GRACE_SECONDS = 1;

export interface HousekeepingDeps {
  clock: Clock;
  log: Logger;
  store: PodStore;
  dispatcher: Dispatcher;
  records(): ReadonlyMap<PodUid, PodRecord>;
  /** The runtime has been listed whole at least once: until then an unknown pod may run, and its directory and cgroup are not touched. */
  hasListed(): boolean;
  /** Gives a desired pod that has no lane one, unless it was refused. */
  begin(pod: Pod): void;
  /** Drops the memory of a pod whose lane is gone. */
  forget(uid: PodUid): void;
  /** Mirrors of static pods that are gone; every round. */
  sweepMirrors?(signal: AbortSignal): Promise<void>;
  /** Directories and cgroups of pods that nobody knows. */
  sweepDisk(isKnown: (uid: string) => boolean, signal: AbortSignal): Promise<void>;
  /** Old back-offs, statuses. */
  collect(): void;
}

/** Clears what is finished, stops what nobody asks for, and begins what lost its lane. */
export class Housekeeping extends Rounds {
  override readonly name = 'housekeeping';
  readonly #deps: HousekeepingDeps;
  #round = 0;
  /** Unknown pods of which only dead members were left at the last sweep. */
  #dead: ReadonlySet<PodUid> = new Set();
  /** The list of the runtime that was last looked through for unknown pods. */
  #judged: ReadonlyMap<PodUid, PodRecord> | undefined;

  constructor(deps: HousekeepingDeps) {
    super(deps.clock);
    this.#deps = deps;
  }

  protected override async round(signal: AbortSignal): Promise<number> {
    const { clock, log, store, hasListed } = this.#deps;
    const began = clock.monotonic();
    if (store.ready && hasListed()) await this.#sweep(signal);
    const took = clock.monotonic() - began;
    if (took > 1_000) log.warn('Housekeeping took longer than expected', { actual: `${Math.round(took)}ms` });
    return PERIOD_MS;
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    const { store, dispatcher, begin, records, collect, sweepMirrors, sweepDisk, forget, log } = this.#deps;
    for (const { uid, phase } of dispatcher.states()) if (phase === 'finished' && !store.has(uid) && dispatcher.remove(uid)) forget(uid);
    for (const pod of store.all()) {
      const uid = podUid(pod.metadata.uid);
      if (dispatcher.state(uid) === undefined) begin(pod);
    }
    this.#judgeUnknown(records());
    await sweepMirrors?.(signal);
    if (this.#round++ % DISK_EVERY !== 0) return;
    collect();
    const isKnown = (uid: string) => store.has(podUid(uid)) || dispatcher.state(podUid(uid)) !== undefined || records().has(podUid(uid));
    await sweepDisk(isKnown, signal).catch((err: unknown) => {
      if (!signal.aborted) log.error(err, 'Failed cleaning pods');
    });
  }

  /** Stops pods that only the runtime knows. Once a list: it may be older than the clean-up of a pod that just ended. */
  #judgeUnknown(listed: ReadonlyMap<PodUid, PodRecord>): void {
    const { store, dispatcher } = this.#deps;
    if (listed === this.#judged) return;
    this.#judged = listed;
    const dead = new Set<PodUid>();
    for (const record of listed.values()) {
      if (store.has(record.uid) || dispatcher.state(record.uid) !== undefined) continue;
      // The list may be older than the clean-up of a pod that just ended: remains count from their second sight on.
      if (hasLiveMember(record) || this.#dead.has(record.uid)) this.#stopOrphan(record);
      else dead.add(record.uid);
    }
    this.#dead = dead;
  }

  #stopOrphan(record: PodRecord): void {
    const { log, dispatcher } = this.#deps;
    log.info('Killing unwanted pod', { podName: record.name, podUID: record.uid });
    dispatcher.submit(record.uid, { kills: [{ cause: 'orphan', graceSeconds: ORPHAN_GRACE_SECONDS }] }, orphanPod(record));
  }
}

/** What can be said of a pod of which only the runtime's labels are left. */
function orphanPod(record: PodRecord): Pod {
  return { metadata: { name: record.name, namespace: record.namespace, uid: record.uid }, spec: { containers: [] } };
}
