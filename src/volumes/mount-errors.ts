import { textOf, VolumeError } from './volume-error.ts';

/** A volume that could not be mounted, with the cause. `isFinal`: no other try in this sync can help. */
export interface MountFailure {
  volume: string;
  cause: unknown;
  isFinal: boolean;
}

/** Contract events.md §2, the event of one operation. */
export function setUpFailure(volume: string, cause: unknown, isBlock = false): string {
  const step = isBlock ? 'MapVolume.MapPodDevice' : 'MountVolume.SetUp';
  return `${step} failed for volume ${JSON.stringify(volume)} : ${textOf(cause)}`;
}

/** A claim that leads nowhere never gets as far as a mount. */
export function isUnresolved(cause: unknown): boolean {
  return cause instanceof VolumeError && cause.code === 'unresolved';
}

/** Contract events.md §2, the event of the whole pod. The cause of each volume is told, never only that the time is over. */
export class UnmountedVolumesError extends Error {
  readonly code = 'unmounted-volumes';
  readonly failures: readonly MountFailure[];

  constructor(failures: readonly MountFailure[]) {
    const names = (list: readonly MountFailure[]) =>
      list
        .map((f) => f.volume)
        .sort()
        .join(' ');
    const causes = [...failures]
      .sort((a, b) => (a.volume < b.volume ? -1 : 1))
      .map(({ volume, cause }) => (isUnresolved(cause) ? textOf(cause) : setUpFailure(volume, cause)));
    super(
      `Unable to attach or mount volumes: unmounted volumes=[${names(failures)}], unattached volumes=[], ` +
        `failed to process volumes=[${names(failures.filter((f) => f.isFinal))}]: ${causes.join('; ')}`,
      { cause: failures[0]?.cause },
    );
    this.name = 'UnmountedVolumesError';
    this.failures = failures;
  }
}
