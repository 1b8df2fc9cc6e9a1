import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { containerLogsDirectory, podLogsDirectory } from '../containers/log-paths.ts';
import type { ObservedPod } from '../pleg/types.ts';
import { type FilesUsage, type MeasuredVolume, type PodDiskUsage, runningContainers, sumOfFiles } from './pod-summary.ts';

export interface PodDiskDeps {
  podLogsDir: string;
  podsDir: string;
  /** Every volume of a pod as it was last measured. */
  volumes(uid: string): readonly MeasuredVolume[];
}

/** What the logs of a pod's containers take. */
export interface PodLogs {
  uid: string;
  namespace: string;
  pod: string;
  containers: ReadonlyMap<string, FilesUsage>;
}

export async function podLogs(podLogsDir: string, pod: ObservedPod): Promise<PodLogs> {
  const { name, namespace, uid } = pod;
  const ref = { name, namespace, uid: uid as string };
  const running = runningContainers(pod);
  const sizes = await Promise.all(running.map((c) => filesIn(containerLogsDirectory(podLogsDir, ref, c.name))));
  const none = { bytes: 0, inodes: 0 };
  return { uid: ref.uid, namespace, pod: name, containers: new Map(running.map((c, i) => [c.name, sizes[i] ?? none])) };
}

/** What lies on the node's disk for a pod. What is not there counts nothing. */
export async function podDisk({ podLogsDir, podsDir, volumes }: PodDiskDeps, pod: ObservedPod): Promise<PodDiskUsage> {
  const { name, namespace } = pod;
  const uid = pod.uid as string;
  const [ownLogs, etcHosts, terminationLogs, logs] = await Promise.all([
    filesIn(podLogsDirectory(podLogsDir, { name, namespace, uid })),
    fileUsage(join(podsDir, uid, 'etc-hosts')),
    filesBelow(join(podsDir, uid, 'containers')),
    podLogs(podLogsDir, pod),
  ]);
  return { podLogs: ownLogs, nodeFiles: sumOfFiles([etcHosts, terminationLogs]), logs: logs.containers, volumes: volumes(uid) };
}

/** Files in the directories of a directory: termination logs, which a container can make as long as it likes. */
async function filesBelow(directory: string): Promise<FilesUsage> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  return sumOfFiles(await Promise.all(entries.filter((e) => e.isDirectory()).map((e) => filesIn(join(directory, e.name)))));
}

/** Blocks of the files directly in a directory, as `du` counts them. */
async function filesIn(directory: string): Promise<FilesUsage> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  const files = await Promise.all(entries.filter((e) => !e.isDirectory()).map((e) => fileUsage(join(directory, e.name))));
  return sumOfFiles(files);
}

/** A block of st_blocks is 512 bytes whatever the file system. */
async function fileUsage(path: string): Promise<FilesUsage> {
  const info = await lstat(path).catch(() => undefined);
  return info === undefined ? { bytes: 0, inodes: 0 } : { bytes: info.blocks * 512, inodes: 1 };
}
