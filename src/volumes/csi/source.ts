import type { VolumeContext } from '../plugin.ts';
import { has, type Source, sourceOf, textField } from '../source-fields.ts';
import { VolumeError } from '../volume-error.ts';
import { accessModeOf } from './access-mode.ts';
import { ephemeralHandle } from './names.ts';
import type { StringMap } from './node-client.ts';
import type { LifecycleMode } from './vol-data.ts';

export interface SecretRef {
  namespace: string;
  name: string;
}

/** A CSI volume of a pod: inline, or of a PersistentVolume. Plain data. */
export interface CsiVolume {
  /** The volume's, or its PersistentVolume's. */
  name: string;
  driver: string;
  handle: string;
  mode: LifecycleMode;
  readOnly: boolean;
  fsType: string;
  attributes: StringMap;
  /** Those of the PersistentVolume; none of an inline one. */
  accessModes: readonly string[];
  /** Kubernetes' mode that the driver is asked for. */
  accessMode: string;
  mountOptions: readonly string[];
  stageSecret: SecretRef | undefined;
  publishSecret: SecretRef | undefined;
  expandSecret: SecretRef | undefined;
}

/** Throws VolumeError when it names no driver, or no volume of it. */
export function csiVolume({ pod, volume, persistent, readOnly, mountOptions }: VolumeContext): CsiVolume {
  const source = sourceOf(volume['csi']);
  const driver = textField(source, 'driver');
  if (driver === '') throw new VolumeError('invalid', 'the CSI volume names no driver');
  const common = { name: volume.name, driver, fsType: textField(source, 'fsType'), attributes: stringsOf(source['volumeAttributes']) };
  if (persistent === undefined) {
    const secret = textField(sourceOf(source['nodePublishSecretRef']), 'name');
    return {
      ...common,
      handle: ephemeralHandle(pod.metadata.uid, volume.name),
      mode: 'Ephemeral',
      readOnly: source['readOnly'] === true,
      accessModes: [],
      accessMode: accessModeOf(undefined),
      mountOptions: [],
      stageSecret: undefined,
      publishSecret: secret === '' ? undefined : { namespace: pod.metadata.namespace, name: secret },
      expandSecret: undefined,
    };
  }
  const handle = textField(source, 'volumeHandle');
  if (handle === '') throw new VolumeError('invalid', 'the PersistentVolume has no volumeHandle');
  const accessModes = persistent.pv.spec.accessModes ?? [];
  return {
    ...common,
    handle,
    mode: 'Persistent',
    readOnly,
    accessModes,
    accessMode: accessModeOf(accessModes),
    mountOptions,
    stageSecret: secretOf(source, 'nodeStageSecretRef'),
    publishSecret: secretOf(source, 'nodePublishSecretRef'),
    expandSecret: secretOf(source, 'nodeExpandSecretRef'),
  };
}

function secretOf(source: Source, key: string): SecretRef | undefined {
  if (!has(source, key)) return undefined;
  const ref = sourceOf(source[key]);
  return { namespace: textField(ref, 'namespace'), name: textField(ref, 'name') };
}

function stringsOf(value: unknown): StringMap {
  const entries = Object.entries(sourceOf(value)).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return Object.fromEntries(entries);
}
