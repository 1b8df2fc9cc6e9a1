import type { Clock } from '../host/clock.ts';
import type { SlowFiles } from '../host/file-threads/file-threads.ts';
import { WalkControl } from '../host/fs-group.ts';
import { podEventObject } from '../observe/event-object.ts';
import type { EventRecorder } from '../observe/events.ts';
import type { VolumeContext } from './plugin.ts';

export interface OwnershipDeps {
  clock: Clock;
  /** For walks, which may take hours. */
  longFiles: SlowFiles;
  events: EventRecorder;
}

/** Contract events.md, VolumePermissionChangeInProgress. */
const FirstTellMs = 30_000;
const TellMs = 60_000;
const MaxWalkMs = 24 * 60 * 60 * 1000;
const Help =
  'https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#configure-volume-permission-and-ownership-change-policy-for-pods';

/**
 * Gives all files of a volume to the pod's group, in a thread; nothing to do for a pod without one. The pod is told when it takes
 * long. Rejects when the pod is to stop: what was begun is done again.
 */
export async function giveToGroup(
  deps: OwnershipDeps,
  { pod, fsGroup, signal }: VolumeContext,
  dir: string,
  readOnly: boolean,
): Promise<void> {
  if (fsGroup === undefined) return;
  const { clock, longFiles, events } = deps;
  const control = new WalkControl();
  const stop = () => control.stop();
  signal.addEventListener('abort', stop, { once: true });
  let timer = clock.after(FirstTellMs, () => tell('first'), true);
  const tell = (which: 'first' | 'more') => {
    const text =
      which === 'first'
        ? `Setting volume ownership for ${dir} is taking longer than expected, consider using OnRootMismatch - ${Help}`
        : `Setting volume ownership for ${dir}, processed ${control.count} files.`;
    events.event(podEventObject(pod), 'Warning', 'VolumePermissionChangeInProgress', text);
    timer = clock.after(TellMs, () => tell('more'), true);
  };
  const onRootMismatch = pod.spec.securityContext?.fsGroupChangePolicy === 'OnRootMismatch';
  try {
    await longFiles.run('group', [dir, fsGroup, { readOnly, onRootMismatch }, control.counters], MaxWalkMs);
  } finally {
    timer.cancel();
    signal.removeEventListener('abort', stop);
  }
}
