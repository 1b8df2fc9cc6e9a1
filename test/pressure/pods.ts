import { shellContainer } from '../support/shellContainer.ts';

/** What a container asks for and may have. */
export interface Sizes {
  requests?: Record<string, string>;
  limits?: Record<string, string>;
}

export function shell(script: string, resources: Sizes = {}, more: Record<string, unknown> = {}, name = 'c'): Record<string, unknown> {
  return shellContainer(name, script, { resources, ...more });
}

/** Takes memory one MiB after another and keeps it. */
export const growTo = (mebibytes: number) =>
  `(i=0; while [ $i -lt ${mebibytes} ]; do head -c 1048576 /dev/zero; i=$((i+1)); sleep 0.02; done; sleep 3600) | tail`;

/** Holds that much memory, quietly. */
export const hold = (mebibytes: number) => `(head -c ${mebibytes * 1024 ** 2} /dev/zero; sleep 3600) | tail`;

/** Writes a file one MiB after another. */
export const fill = (path: string, mebibytes: number) =>
  `i=0; while [ $i -lt ${mebibytes} ]; do head -c 1048576 /dev/zero >> ${path}; i=$((i+1)); sleep 0.01; done; sleep 3600`;

/** Writes that much to its log, in lines of 1 KiB. */
export const chatter = (mebibytes: number) =>
  `line=$(head -c 1000 /dev/zero | tr '\\0' x); i=0; while [ $i -lt ${mebibytes * 1024} ]; do echo $line; i=$((i+1)); done; sleep 3600`;

/** Starts processes until there are that many, or it may not. */
export const bomb = (processes: number) => `i=0; while [ $i -lt ${processes} ]; do sleep 3600 & i=$((i+1)); done; sleep 3600`;

export const emptyDir = (sizeLimit?: string) => [{ name: 'v', emptyDir: sizeLimit === undefined ? {} : { sizeLimit } }];
export const mountedAt = (mountPath: string) => ({ volumeMounts: [{ name: 'v', mountPath }] });
