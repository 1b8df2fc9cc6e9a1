import { podUid } from '../api/brands.ts';
import { isStaticPod, podFullName } from '../api/pod.ts';
import type { Pod } from '../api/types.ts';
import type { ClusterPort } from '../node/cluster-port.ts';
import type { Dispatcher } from '../pods/dispatcher.ts';
import type { HousekeepingDeps } from '../pods/housekeeping.ts';
import type { PodStore } from '../pods/store.ts';

type IsKnown = (uid: string) => boolean;
interface Sweeper {
  sweep(isKnown: IsKnown): Promise<void>;
}

export interface SweepsInput {
  volumes: { releaseUnknown?(isKnown: IsKnown): Promise<void> };
  userNamespaces: Sweeper | undefined;
  dirs: Sweeper;
  cgroups: Sweeper & { updateQOS(active: readonly Pod[]): Promise<void> };
  resizes: { retain(isKnown: IsKnown): void; manager: { allocated(pod: Pod): Pod } };
  cluster: ClusterPort | undefined;
  store: PodStore;
  dispatcher(): Dispatcher;
}

/** What housekeeping clears of pods that nobody knows any more (contract: pod-lifecycle.md §16). */
export function createSweeps(input: SweepsInput): Pick<HousekeepingDeps, 'sweepMirrors' | 'sweepDisk'> {
  const { volumes, userNamespaces, dirs, cgroups, resizes, cluster, store, dispatcher } = input;
  return {
    async sweepMirrors(signal) {
      if (cluster === undefined) return;
      // Wanted, or still on its way out.
      const pods = [
        ...store.all(),
        ...dispatcher()
          .states()
          .map((s) => s.pod),
      ];
      const shown = new Set(pods.filter(isStaticPod).map(podFullName));
      await cluster.mirrors.sweep((mirror) => shown.has(podFullName(mirror)), signal);
    },
    async sweepDisk(isKnown) {
      await volumes.releaseUnknown?.(isKnown);
      resizes.retain(isKnown);
      await userNamespaces?.sweep(isKnown);
      await dirs.sweep(isKnown);
      await cgroups.sweep(isKnown);
      const active = store.all().filter((pod) => dispatcher().state(podUid(pod.metadata.uid))?.phase !== 'finished');
      await cgroups.updateQOS(active.map((pod) => resizes.manager.allocated(pod)));
    },
  };
}
