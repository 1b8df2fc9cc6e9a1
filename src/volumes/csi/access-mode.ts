/** VolumeCapability.AccessMode.Mode of CSI, by name. */
const Modes = {
  UNKNOWN: 0,
  SINGLE_NODE_WRITER: 1,
  MULTI_NODE_READER_ONLY: 3,
  MULTI_NODE_MULTI_WRITER: 5,
  SINGLE_NODE_SINGLE_WRITER: 6,
  SINGLE_NODE_MULTI_WRITER: 7,
} as const;

export type CsiAccessMode = keyof typeof Modes;

/** The number of a mode in the protocol. */
export const accessModeNumber = (mode: CsiAccessMode): number => Modes[mode];

/** What a volume without access modes, such as an inline one, is mounted as. */
export const DefaultAccessMode = 'ReadWriteOnce';

/** The access mode that a volume is asked for with: the first that its PersistentVolume lists (contract node.md §10). */
export function accessModeOf(accessModes: readonly string[] | undefined | null): string {
  return accessModes?.[0] ?? DefaultAccessMode;
}

/**
 * CSI's mode for one of Kubernetes. `multiWriter`: the driver has SINGLE_NODE_MULTI_WRITER, and so tells one writing pod
 * from one writing node.
 */
export function csiAccessMode(mode: string, multiWriter: boolean): CsiAccessMode {
  switch (mode) {
    case 'ReadWriteOnce':
      return multiWriter ? 'SINGLE_NODE_MULTI_WRITER' : 'SINGLE_NODE_WRITER';
    case 'ReadWriteOncePod':
      return multiWriter ? 'SINGLE_NODE_SINGLE_WRITER' : 'SINGLE_NODE_WRITER';
    case 'ReadOnlyMany':
      return 'MULTI_NODE_READER_ONLY';
    case 'ReadWriteMany':
      return 'MULTI_NODE_MULTI_WRITER';
    default:
      return 'UNKNOWN';
  }
}
