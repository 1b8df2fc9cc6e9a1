import type { Container, ContainerStatus, VolumeMount } from '../api/types.ts';

type VolumeMountStatus = NonNullable<ContainerStatus['volumeMounts']>[number];

/** What the API shows of a container's mounts. `supported`: the runtime handler can mount recursively read-only. */
export function volumeMountStatuses(container: Container, supported: boolean): VolumeMountStatus[] {
  return (container.volumeMounts ?? []).map((mount) => {
    const shown: VolumeMountStatus = { name: mount.name, mountPath: mount.mountPath };
    if (!mount.readOnly) return shown;
    return { ...shown, readOnly: true, recursiveReadOnly: recursive(mount, supported) ? 'Enabled' : 'Disabled' };
  });
}

/** A mode that the runtime or the mount's propagation cannot honour shows as disabled: the mount itself fails elsewhere. */
function recursive(mount: VolumeMount, supported: boolean): boolean {
  const mode = mount.recursiveReadOnly;
  if (mode !== 'IfPossible' && mode !== 'Enabled') return false;
  return supported && (mount.mountPropagation ?? 'None') === 'None';
}
