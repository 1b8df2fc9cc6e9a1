import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MANIFESTS } from './node.ts';

type Resources = { requests?: Record<string, string>; limits?: Record<string, string> };

/** Writes the manifest of a pod with one container. */
export async function place(name: string, command: string, resources: Resources, spec: Record<string, unknown> = {}): Promise<void> {
  const container = {
    name: 'main',
    image: 'registry.local/busybox:1',
    imagePullPolicy: 'Never',
    command: ['sh', '-c', command],
    resources,
  };
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { terminationGracePeriodSeconds: 1, containers: [container], ...spec },
  };
  const file = join(MANIFESTS, `${name}.json`);
  await writeFile(`${MANIFESTS}/.${name}`, JSON.stringify(pod));
  await rename(`${MANIFESTS}/.${name}`, file);
}

export async function unplace(name: string): Promise<void> {
  await rm(join(MANIFESTS, `${name}.json`));
}

export const SLEEP = 'trap "exit 0" TERM; while :; do sleep 1; done';
