import type { FilesystemCounts } from '../host/block-devices.ts';
import type { CgroupStats } from '../host/cgroups/cgroup-stats.ts';
import type { InterfaceCounts, OpenFiles } from '../host/process-stats.ts';

export type GroupKind = 'root' | 'node' | 'system' | 'qos' | 'pod' | 'sandbox' | 'container';

/** A control group that is measured, and whose it is. What is not known is empty. */
export interface Group {
  kind: GroupKind;
  /** Path of the control group. */
  path: string;
  podUid: string;
  pod: string;
  namespace: string;
  /** The container's name; empty for a sandbox. */
  container: string;
  /** Id of the container or sandbox. */
  id: string;
  image: string;
  /** Wall-clock milliseconds; undefined for groups that no runtime made. */
  createdAtMs?: number;
  startedAtMs?: number;
}

/** What was measured of a group. */
export interface GroupSample extends Group {
  stats: CgroupStats;
  /** Nanoseconds of CPU in a second, over the time since a look before this one. */
  cpuRate?: number;
  /** Of the pod's network namespace (sandbox) or the machine's (root). */
  network?: readonly InterfaceCounts[];
  /** Processes of the group itself, not of those below it. */
  processes: number;
  openFiles?: OpenFiles;
  /** Of the group's first process. */
  softFileLimit?: number;
  /** Of the root only. */
  filesystems?: readonly FilesystemCounts[];
}
