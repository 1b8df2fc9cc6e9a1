import { VolumeError } from '../volume-error.ts';
import type { CsiVolume } from './source.ts';

/** CSIDriver.spec.fsGroupPolicy where there is no CSIDriver object. */
const DefaultPolicy = 'ReadWriteOnceWithFSType';

/**
 * Whether the agent gives the volume's files to the pod's group; a driver that does it itself (VOLUME_MOUNT_GROUP) is not asked
 * about here. `policy`: of the CSIDriver, undefined where there is none. Throws VolumeError for a CSIDriver without a policy.
 */
export function changesGroup(volume: CsiVolume, fsGroup: number | undefined, driver: { fsGroupPolicy?: string } | undefined): boolean {
  const policy = driver === undefined ? DefaultPolicy : driver.fsGroupPolicy;
  if (policy === undefined || policy === '') {
    throw new VolumeError('invalid', `the CSIDriver ${volume.driver} has no fsGroupPolicy`);
  }
  if (fsGroup === undefined || policy === 'None' || volume.readOnly) return false;
  if (policy === 'File') return true;
  if (volume.fsType === '') return false;
  if (volume.mode === 'Ephemeral') return true;
  return volume.accessModes.some((mode) => mode === 'ReadWriteOnce' || mode === 'ReadWriteOncePod');
}

/** Throws VolumeError when the driver does not serve volumes of that kind. `modes`: undefined where there is no CSIDriver object. */
export function checkLifecycleMode({ driver, mode }: CsiVolume, modes: readonly string[] | undefined): void {
  if (modes === undefined && mode === 'Persistent') return;
  const refused = `volume mode ${JSON.stringify(mode)} not supported by driver ${driver}`;
  if (modes === undefined) throw new VolumeError('invalid', `${refused} (no CSIDriver object)`);
  if (!modes.includes(mode)) {
    throw new VolumeError('invalid', `${refused} (only supports [${modes.map((m) => JSON.stringify(m)).join(' ')}])`);
  }
}
