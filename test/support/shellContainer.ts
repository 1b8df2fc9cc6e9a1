import { BUSYBOX_IMAGE } from './containerd.ts';

/** Stays, and ends at once when it is told to. */
export const STAY = 'trap "exit 0" TERM; while true; do sleep 0.1; done';
/** Stays until it is killed. */
export const IGNORE_TERM = 'trap "" TERM; while true; do sleep 0.1; done';

/** A container of a manifest that runs a script in busybox; `over` goes over it. */
export function shellContainer(name: string, script: string, over: object = {}) {
  return { name, image: BUSYBOX_IMAGE, imagePullPolicy: 'IfNotPresent', command: ['sh', '-c', script], ...over };
}
