import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MANIFESTS } from './node.ts';

export type Resources = { requests?: Record<string, string>; limits?: Record<string, string> };

/** A pod of one container, `main`. */
export function podOf(
  name: string,
  command: string,
  container: { resources: Resources; volumeMounts?: object[] },
  spec: object = {},
): object {
  const main = { name: 'main', image: 'registry.local/busybox:1', imagePullPolicy: 'Never', command: ['sh', '-c', command], ...container };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { terminationGracePeriodSeconds: 1, containers: [main], ...spec },
  };
}

/** Writes the manifest of a pod with one container. */
export async function place(name: string, command: string, resources: Resources): Promise<void> {
  const file = join(MANIFESTS, `${name}.json`);
  await writeFile(`${MANIFESTS}/.${name}`, JSON.stringify(podOf(name, command, { resources })));
  await rename(`${MANIFESTS}/.${name}`, file);
}

export async function unplace(name: string): Promise<void> {
  await rm(join(MANIFESTS, `${name}.json`));
}

export const SLEEP = 'trap "exit 0" TERM; while :; do sleep 1; done';
