import { isMounted } from '../global-mounts.ts';
import { MountedVolume, type MountedVolumeDeps } from '../mounted-volume.ts';
import { giveToGroup } from '../ownership.ts';
import type { VolumeContext, VolumePlugin } from '../plugin.ts';
import { sourceOf, textField } from '../source-fields.ts';
import { VolumeError } from '../volume-error.ts';

/** A directory of an NFS server. */
export class Nfs extends MountedVolume implements VolumePlugin {
  readonly name = 'kubernetes.io/nfs';

  constructor(deps: MountedVolumeDeps) {
    super('nfs', deps);
  }

  async setUp(context: VolumeContext): Promise<void> {
    const { files, mounts, mounter } = this.deps;
    const { dir, mountOptions } = context;
    // Asked of mountinfo: a look at the directory itself would wait for the server.
    if (await isMounted(mounts, dir)) return;
    const { source, readOnly } = nfsSource(context);
    await files.mkdir(dir, 0o750);
    try {
      await mounter.mount({ source, target: dir, fsType: 'nfs', options: [...(readOnly ? ['ro'] : []), ...mountOptions] });
    } catch (err) {
      if (!(await isMounted(mounts, dir))) await files.rmdir(dir);
      throw err;
    }
    await giveToGroup(this.deps, context, dir, readOnly);
  }
}

/** As mount(8) takes it. Throws VolumeError for what is no server and path. */
function nfsSource({ volume, readOnly }: VolumeContext): { source: string; readOnly: boolean } {
  const nfs = sourceOf(volume['nfs']);
  const [server, path] = [textField(nfs, 'server'), textField(nfs, 'path')];
  if (server === '' || /[\s,]/.test(server)) throw new VolumeError('invalid', `nfs: ${JSON.stringify(server)} is no name of a server`);
  if (!path.startsWith('/')) throw new VolumeError('invalid', `nfs: the path ${JSON.stringify(path)} must be absolute`);
  // An IPv6 address holds colons: it is told from the path by brackets.
  const host = server.includes(':') && !server.startsWith('[') ? `[${server}]` : server;
  return { source: `${host}:${path}`, readOnly: readOnly || nfs['readOnly'] === true };
}
