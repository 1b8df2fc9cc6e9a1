import { joinPath } from '../api/path.ts';
import { podFullName } from '../api/pod.ts';
import type { ObjectMeta } from '../api/types.ts';

/** Where containers' logs lie. Source: vectors log-paths; contract pod-lifecycle.md §14. */

type PodIdentity = Pick<ObjectMeta, 'namespace' | 'name' | 'uid'>;

const SUFFIX = '.log';
/** Bytes of a file name on ext4 and most others. */
const MAX_FILE_NAME = 255;

/** `<root>/<namespace>_<name>_<uid>`, cleaned. */
export function podLogsDirectory(root: string, { namespace, name, uid }: PodIdentity): string {
  return joinPath(root, [namespace, name, uid].join('_'));
}

/** `<pod's directory>/<container>`, cleaned. */
export function containerLogsDirectory(root: string, pod: PodIdentity, container: string): string {
  return joinPath(podLogsDirectory(root, pod), container);
}

/** A container's log below its pod's directory, as the runtime is told: `<container>/<restart count>.log`. */
export function containerLogFile(container: string, restartCount: number): string {
  return joinPath(container, `${restartCount}${SUFFIX}`);
}

/** The link by which log collectors find a container: `<dir>/<pod>_<namespace>_<container>-<id>.log`, cut to a file name's length. */
export function containerLogLink(directory: string, pod: PodIdentity, container: string, containerId: string): string {
  const name = Buffer.from(`${podFullName({ metadata: pod as ObjectMeta })}_${container}-${containerId}`);
  return joinPath(directory, name.subarray(0, MAX_FILE_NAME - SUFFIX.length).toString() + SUFFIX);
}
