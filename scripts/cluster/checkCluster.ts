import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '../../test/e2e/cluster/cluster.ts';
import { isReady } from '../../test/e2e/cluster/node.ts';
import { BUSYBOX_IMAGE } from '../images/exampleImages.ts';

const REPLICAS = 30;
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const PODS = '/api/v1/namespaces/default/pods?labelSelector=app%3Dcheck';

export interface CheckResult {
  /** Seconds until all pods were Ready, as the API server sees it. */
  up: number;
  /** Seconds until all pods were gone from the API server. */
  down: number;
  /** Pods by node when all were Ready. */
  byNode: Record<string, number>;
}

/** Scales a deployment to 30 and back to 0. Rejects when a step takes over `timeoutMs`, or a container outlives its pod. */
export async function checkCluster(cluster: Cluster, signal: AbortSignal, timeoutMs: number): Promise<CheckResult> {
  await cluster.api.post(DEPLOYMENTS, deployment());
  await cluster.until(
    'the deployment controller',
    async () => (await cluster.api.get(`${DEPLOYMENTS}/check`)).status?.observedGeneration === 1,
  );
  const timed = async (what: string, done: () => Promise<boolean>) => {
    const began = performance.now();
    while (!(await done())) {
      signal.throwIfAborted();
      if (performance.now() - began > timeoutMs) throw new Error(`not after ${timeoutMs / 1000} s: ${what}`);
      await sleep(50);
    }
    return (performance.now() - began) / 1000;
  };
  const scale = (replicas: number) => cluster.api.patch(`${DEPLOYMENTS}/check`, { spec: { replicas } });
  await scale(REPLICAS);
  const up = await timed(`${REPLICAS} pods Ready`, async () => (await cluster.api.list(PODS)).filter(isReady).length === REPLICAS);
  const byNode: Record<string, number> = {};
  for (const pod of await cluster.api.list(PODS)) byNode[pod.spec.nodeName] = (byNode[pod.spec.nodeName] ?? 0) + 1;
  await scale(0);
  const down = await timed('all pods gone', async () => (await cluster.api.list(PODS)).length === 0);
  for (const node of cluster.nodes) {
    const left = (await node.containerd.ctr(['tasks', 'ls', '-q'])).split('\n').filter(Boolean);
    if (left.length > 0) throw new Error(`${left.length} containers run on ${node.name} though no pod is left`);
  }
  await cluster.api.delete(`${DEPLOYMENTS}/check`, { propagation: 'Background' });
  return { up, down, byNode };
}

/** Pods that end at once when they are told to. */
function deployment(): unknown {
  const labels = { app: 'check' };
  const container = {
    name: 'c',
    image: BUSYBOX_IMAGE,
    imagePullPolicy: 'Never',
    command: ['sh', '-c', 'trap "exit 0" TERM; sleep 100000 & wait $!'],
    resources: { requests: { cpu: '1m', memory: '4Mi' }, limits: { memory: '32Mi' } },
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'check' },
    spec: { replicas: 0, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [container] } } },
  };
}
