import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ContainerStatus, Pod } from '../../src/api/types.ts';
import type { Agent } from '../support/agent.ts';
import { BUSYBOX_IMAGE } from '../support/containerd.ts';

/** A pod of one busybox container; `spec` and `container` go over it. */
export function testPod(name: string, command: string[], over: { spec?: object; container?: object } = {}): object {
  const container = { name: 'c', image: BUSYBOX_IMAGE, imagePullPolicy: 'IfNotPresent', command, ...over.container };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { terminationGracePeriodSeconds: 1, containers: [container], ...over.spec },
  };
}

/** Moves a manifest into the agent's folder, whole at once. */
export async function putManifest(agent: Agent, name: string, manifest: object | string): Promise<void> {
  const hidden = join(agent.manifests, `.${name}`);
  await writeFile(hidden, typeof manifest === 'string' ? manifest : JSON.stringify(manifest));
  await rename(hidden, join(agent.manifests, name));
}

export const removeManifest = (agent: Agent, name: string) => rm(join(agent.manifests, name));

/** The pods that the agent shows, by name without the node's part. */
export async function shownPods(agent: Agent): Promise<Map<string, Pod>> {
  const list = (await agent.pods()) as { items?: Pod[] } | undefined;
  return new Map((list?.items ?? []).map((p) => [p.metadata.name.slice(0, p.metadata.name.lastIndexOf('-')), p]));
}

/** The first container's status of a shown pod. */
export async function containerOf(agent: Agent, pod: string): Promise<ContainerStatus | undefined> {
  return (await shownPods(agent)).get(pod)?.status?.containerStatuses?.[0];
}

export function isReady(pod: Pod | undefined): boolean {
  return pod?.status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') === true;
}

/** Waits until `look` gives something, and returns it; rejects with `what` and the last lines of the log. */
export async function until<T>(agent: Agent, what: string, look: () => Promise<T | undefined | false>, timeoutMs = 30_000): Promise<T> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > end) {
      const log = (await agent.log()).split('\n').slice(-25).join('\n');
      const pods = JSON.stringify([...(await shownPods(agent))].map(([name, p]) => [name, p.status?.phase, p.status?.containerStatuses]));
      throw new Error(`after ${timeoutMs / 1000} s: not ${what}\npods: ${pods}\n${log}`);
    }
    await sleep(50);
  }
}

export const untilReady = (agent: Agent, pod: string, timeoutMs?: number) =>
  until(agent, `pod ${pod} ready`, async () => isReady((await shownPods(agent)).get(pod)), timeoutMs);
