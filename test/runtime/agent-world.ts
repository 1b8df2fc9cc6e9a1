import { readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ContainerStatus, Pod } from '../../src/api/types.ts';
import { type Agent, type AgentOptions, startAgent } from '../support/agent.ts';
import { BUSYBOX_IMAGE, type PrivateContainerd, startContainerd } from '../support/containerd.ts';

/** A private containerd and an agent on it. */
export interface AgentWorld {
  readonly containerd: PrivateContainerd;
  readonly agent: Agent;
  /** Ends both; nothing is left of them. */
  stop(): Promise<void>;
}

/** Starts both and waits until the agent is healthy. When that fails, nothing is left. */
export async function startAgentWorld(options: Pick<AgentOptions, 'config'> = {}): Promise<AgentWorld> {
  const containerd = await startContainerd();
  try {
    const agent = await startAgent({ containerd, ...options });
    await agent.waitHealthy();
    const stop = async () => {
      await agent.kill('SIGTERM');
      await containerd.stop();
    };
    return { containerd, agent, stop };
  } catch (err) {
    await containerd.stop();
    throw err;
  }
}

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

/** Ids of the containers and sandboxes that containerd has of pods whose name begins so, a line each; '' when there is none. */
export async function leftOf(containerd: PrivateContainerd, pods: string): Promise<string> {
  return (await containerd.ctr(['containers', 'ls', `labels."io.kubernetes.pod.name"~="^${pods}"`, '-q'])).trim();
}

/** Files of a container's log; none when there is no such folder. */
export async function logFilesOf(agent: Agent, pod: string, container = 'c'): Promise<string[]> {
  const folder = (await readdir(agent.podLogsDir)).find((name) => name.includes(`_${pod}-`)) ?? '';
  const dir = join(agent.podLogsDir, folder, container);
  return (await readdir(dir).catch(() => [])).map((name) => join(dir, name));
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
