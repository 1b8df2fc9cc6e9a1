import type { Pod } from '../api/types.ts';
import type { Clock } from '../host/clock.ts';
import type { SlowFiles } from '../host/file-threads/file-threads.ts';
import type { Mounts } from '../host/mounts.ts';
import type { OwnedFiles } from '../host/owned-files.ts';
import { podDir, volumeDir } from './paths.ts';
import type { VolumePlugin } from './plugin.ts';
import type { ResolvedVolume } from './resolved-volume.ts';
import type { VolumeUsage } from './usage.ts';

export interface PodUsageDeps {
  clock: Pick<Clock, 'now'>;
  mounts: Pick<Mounts, 'below'>;
  owned: Pick<OwnedFiles, 'realpath'>;
  slowFiles: SlowFiles;
  podsDir: string;
  plugins: readonly VolumePlugin[];
}

/** What a pod's volumes hold. One that cannot be measured is left out; rejects when that is true of all. */
export async function podUsage(deps: PodUsageDeps, pod: Pod, volumes: readonly ResolvedVolume[]): Promise<VolumeUsage[]> {
  const { clock, mounts, owned, slowFiles, plugins } = deps;
  const { uid } = pod.metadata;
  const measured = volumes.flatMap((resolved) => {
    const plugin = resolved.isBlock ? undefined : plugins.find((p) => p.supports(resolved.source));
    return plugin?.usage === undefined ? [] : [{ resolved, plugin }];
  });
  if (measured.length === 0) return [];
  // mountinfo holds resolved paths.
  const podsDir = await owned.realpath(deps.podsDir);
  if (podsDir === undefined) return [];
  const mounted = new Set((await mounts.below(podDir(podsDir, uid))).map((mount) => mount.mountPoint));
  const results = await Promise.allSettled(
    measured.map(async ({ resolved: { name, source, persistent }, plugin }): Promise<VolumeUsage[]> => {
      const dir = volumeDir(podsDir, uid, plugin.name, source.name);
      const figures = await plugin.usage?.({ volume: source, dir, files: slowFiles, isMounted: (path) => mounted.has(path) });
      if (figures === undefined) return [];
      const claim = persistent === undefined ? {} : { claim: { namespace: persistent.claim.namespace, name: persistent.claim.name } };
      return [{ volume: name, plugin: plugin.name, ...claim, measuredAtMs: clock.now(), ...figures }];
    }),
  );
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined && results.every((result) => result.status === 'rejected')) throw failed.reason;
  return results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
}
