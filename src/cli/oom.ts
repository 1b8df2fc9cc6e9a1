import { systemClock } from '../host/clock.ts';
import { kernelLog } from '../host/kernel-log.ts';
import { type GroupOwner, OomWatcher } from '../node/oom-watcher.ts';
import type { AgentMetrics } from '../observe/agent-metrics.ts';
import type { Logger } from '../observe/log.ts';
import type { ObservedPod } from '../pleg/types.ts';
import { containerIdOf } from '../stats/pod-groups.ts';
import type { RealNode } from './node.ts';

export interface OomInput {
  node: RealNode;
  metrics: Pick<AgentMetrics, 'systemOom' | 'containerOom'>;
  log: Logger;
}

/** Tells what the kernel of this machine kills for want of memory. */
export function nodeOomWatcher({ node, metrics, log }: OomInput): OomWatcher {
  return new OomWatcher({
    kernelLog: (signal) => kernelLog(systemClock, signal),
    events: node.events,
    node: node.reference,
    log,
    ownerOf: (group) => ownerOf(group, node.kubelet.cache.all()),
    metrics: { systemOom: () => metrics.systemOom(), containerOom: (owner) => metrics.containerOom(owner) },
  });
}

/** A container may have made groups below its own: any part of the path may be its id. */
function ownerOf(group: string, pods: Iterable<ObservedPod>): GroupOwner | undefined {
  const ids = new Set(group.split('/').map(containerIdOf));
  for (const { namespace, name, uid, containers } of pods) {
    const found = containers.find(({ id }) => ids.has(id));
    if (found === undefined) continue;
    const object = { kind: 'Pod' as const, namespace, name, uid, fieldPath: `spec.containers{${found.name}}` };
    return { namespace, pod: name, container: found.name, object };
  }
  return undefined;
}
