import { posix } from 'node:path';
import type { Container, Pod } from '../api/types.ts';
import type { Device } from '../cri/types.ts';
import type { Files } from '../host/files.ts';
import { deviceLink } from './paths.ts';
import type { VolumePlugin } from './plugin.ts';
import type { ResolvedVolume } from './resolved-volume.ts';
import { VolumeError } from './volume-error.ts';

/** Makes {root}/pods/{uid}/volumeDevices/{plug-in}/{volume} lead to the device. */
export async function linkDevice(files: Files, link: string, device: string): Promise<void> {
  await files.mkdir(posix.dirname(link), 0o750);
  await files.symlink(device, link);
}

/** What the runtime is told of the block volumes of a container. Rejects with VolumeError when one is not there. */
export async function containerDevices(
  podsDir: string,
  pod: Pod,
  container: Container,
  find: (name: string) => Promise<{ plugin: VolumePlugin; resolved: ResolvedVolume }>,
): Promise<Device[]> {
  return Promise.all(
    (container.volumeDevices ?? []).map(async ({ name, devicePath }) => {
      const { plugin, resolved } = await find(name);
      if (!resolved.isBlock) throw new VolumeError('invalid', `volume ${JSON.stringify(name)} is no block volume`);
      return {
        hostPath: deviceLink(podsDir, pod.metadata.uid, plugin.name, resolved.source.name),
        containerPath: devicePath,
        permissions: resolved.readOnly ? 'r' : 'mrw',
      };
    }),
  );
}
