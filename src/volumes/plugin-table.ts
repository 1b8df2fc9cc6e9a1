import type { Volume } from '../api/types.ts';
import type { Mounter } from '../host/mounts.ts';
import { ContentVolume, type ContentVolumeDeps } from './content-volume.ts';
import type { VolumePlugin } from './plugin.ts';
import { ConfigMapKind } from './plugins/config-map.ts';
import { DownwardApiKind } from './plugins/downward-api.ts';
import { EmptyDir } from './plugins/empty-dir.ts';
import { FibreChannel } from './plugins/fc.ts';
import { HostPath, type HostPathDeps } from './plugins/host-path.ts';
import { ImageVolume } from './plugins/image.ts';
import { Iscsi, type IscsiDeps } from './plugins/iscsi.ts';
import { Local, type LocalDeps } from './plugins/local.ts';
import { Nfs } from './plugins/nfs.ts';
import { ProjectedKind } from './plugins/projected.ts';
import { SecretKind } from './plugins/secret.ts';
import { VolumeError } from './volume-error.ts';

/** What the kinds of volumes need of the node. */
export interface PluginTableDeps extends ContentVolumeDeps, HostPathDeps, LocalDeps, IscsiDeps {
  mounter: Mounter;
}

/** The kinds of volume that every node has. */
export function volumePlugins(deps: PluginTableDeps): VolumePlugin[] {
  return [
    new EmptyDir(deps),
    new HostPath(deps),
    new ImageVolume(),
    new ContentVolume(ConfigMapKind, deps),
    new ContentVolume(SecretKind, deps),
    new ContentVolume(DownwardApiKind, deps),
    new ContentVolume(ProjectedKind, deps),
    new Local(deps),
    new Nfs(deps),
    new Iscsi(deps),
    new FibreChannel(deps),
  ];
}

/** The plug-in of a volume. Throws VolumeError that names the kind when there is none. */
export function pluginFor(plugins: readonly VolumePlugin[], volume: Volume): VolumePlugin {
  const plugin = plugins.find((p) => p.supports(volume));
  if (plugin !== undefined) return plugin;
  const kind = Object.keys(volume).find((key) => key !== 'name' && volume[key] !== undefined && volume[key] !== null);
  if (kind === 'gitRepo') {
    throw new VolumeError(
      'unsupported',
      'gitRepo volumes are never mounted: a repository could run commands on the node (CVE-2024-10220) or read those of other pods ' +
        '(CVE-2025-1767); clone into an emptyDir from an init container instead',
    );
  }
  if (kind === undefined) throw new VolumeError('invalid', 'the volume has no source');
  throw new VolumeError('unsupported', `no volume plug-in for ${kind}: this agent cannot mount volumes of that kind`);
}
