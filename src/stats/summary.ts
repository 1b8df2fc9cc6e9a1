import { ContainerNameLabel, PodUidLabel } from '../api/annotations.ts';
import type { Pod } from '../api/types.ts';
import type { CriStats } from '../cri/ports.ts';
import type { ContainerStats } from '../cri/types.ts';
import type { Clock } from '../host/clock.ts';

export interface SummaryDeps {
  nodeName: string;
  /** Wall-clock text of when the node's system began. */
  bootTime: string;
  pods(): Pod[];
  stats: Pick<CriStats, 'listContainerStats'>;
  clock: Pick<Clock, 'now'>;
}

/**
 * The body of /stats/summary as far as the runtime tells it: CPU, memory and writable layer of each container, summed for
 * its pod (contract: http-api §10). Node, network and volume figures are not there yet. Rejects when the runtime fails.
 */
export async function statsSummary({ nodeName, bootTime, pods, stats, clock }: SummaryDeps): Promise<Record<string, unknown>> {
  const byPod = Map.groupBy(await stats.listContainerStats(), (s) => s.labels[PodUidLabel] ?? '');
  const started = new Map(pods().map((p) => [p.metadata.uid, p]));
  const list = [...byPod].flatMap(([uid, containers]) => {
    const pod = started.get(uid);
    return pod === undefined ? [] : [podStats(pod, containers)];
  });
  const time = new Date(clock.now()).toISOString();
  return { node: { nodeName, startTime: bootTime, cpu: { time }, memory: { time } }, pods: list };
}

function podStats(pod: Pod, containers: readonly ContainerStats[]) {
  const { name, namespace, uid } = pod.metadata;
  const statuses = pod.status?.containerStatuses ?? [];
  return {
    podRef: { name, namespace, uid },
    startTime: pod.status?.startTime ?? null,
    containers: containers.map((c) => {
      const containerName = c.labels[ContainerNameLabel] ?? c.metadata.name;
      const startTime = statuses.find((s) => s.name === containerName)?.state?.running?.startedAt ?? null;
      return { name: containerName, startTime, ...usage(c) };
    }),
  };
}

function usage({ cpu, memory, writableLayer }: ContainerStats): Record<string, unknown> {
  return {
    ...(cpu === undefined
      ? {}
      : {
          cpu: {
            time: timeOf(cpu.timestamp),
            ...(cpu.usageNanoCores === undefined ? {} : { usageNanoCores: cpu.usageNanoCores }),
            ...(cpu.usageCoreNanoSeconds === undefined ? {} : { usageCoreNanoSeconds: Number(cpu.usageCoreNanoSeconds) }),
          },
        }),
    ...(memory === undefined ? {} : { memory: { ...known(memory), time: timeOf(memory.timestamp) } }),
    ...(writableLayer === undefined
      ? {}
      : { rootfs: { time: timeOf(writableLayer.timestamp), usedBytes: writableLayer.usedBytes, inodesUsed: writableLayer.inodesUsed } }),
  };
}

function known({
  workingSetBytes,
  availableBytes,
  usageBytes,
  rssBytes,
  pageFaults,
  majorPageFaults,
}: NonNullable<ContainerStats['memory']>) {
  const all = { availableBytes, usageBytes, workingSetBytes, rssBytes, pageFaults, majorPageFaults };
  return Object.fromEntries(Object.entries(all).filter(([, v]) => v !== undefined));
}

const timeOf = (nanoseconds: bigint) => new Date(Number(nanoseconds / 1_000_000n)).toISOString();
