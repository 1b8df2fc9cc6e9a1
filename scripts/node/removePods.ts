import { lstat, readdir, readlink, rm, rmdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectRuntime } from '../../src/cri/connect.ts';
import { noRuntimeMetrics } from '../../src/cri/instrumentation.ts';
import type { CriRuntime } from '../../src/cri/ports.ts';
import type { PodSandbox } from '../../src/cri/types.ts';
import { systemClock } from '../../src/host/clock.ts';
import { silentLogger } from '../../src/observe/log.ts';

/** Where the agent links the log of every container, whatever the folder of the logs. */
const CONTAINER_LOGS = '/var/log/containers';

/**
 * Stops and removes every pod of a runtime, the containers at once. What an agent had just begun when it ended is still
 * being started and cannot be removed yet: it is tried again for 20 s. Returns how many pods there were.
 */
export async function removePods(endpoint: string): Promise<number> {
  const connected = await connectRuntime({ endpoint, timeoutMs: 30_000, clock: systemClock, log: silentLogger, metrics: noRuntimeMetrics });
  const { runtime } = connected;
  try {
    const sandboxes = new Set<string>();
    const end = performance.now() + 20_000;
    for (;;) {
      const found = await runtime.listPodSandbox();
      for (const s of found) sandboxes.add(s.id);
      const fault = await removeAll(runtime, found);
      const left = [...(await runtime.listPodSandbox()), ...(await runtime.listContainers())].map((l) => l.id);
      if (left.length === 0) return sandboxes.size;
      if (performance.now() > end) throw new Error(`still in the runtime: ${left.join(', ')}`, { cause: fault });
      await sleep(100);
    }
  } finally {
    connected.close();
  }
}

/** Four at a time: more only queue up in the runtime. Returns the last error. */
async function removeAll(runtime: CriRuntime, sandboxes: readonly PodSandbox[]): Promise<unknown> {
  let next = 0;
  let fault: unknown;
  const work = async () => {
    for (let s = sandboxes[next++]; s !== undefined; s = sandboxes[next++]) {
      try {
        await runtime.stopPodSandbox(s.id, { timeoutMs: 30_000 });
        await runtime.removePodSandbox(s.id, { timeoutMs: 30_000 });
      } catch (error) {
        fault = error;
      }
    }
  };
  await Promise.all([work(), work(), work(), work()]);
  return fault;
}

/** Removes the links to logs below `podLogsDir`, and their folder when it is empty then and `folderWasThere` is false. */
export async function removeLogLinks(podLogsDir: string, folderWasThere: boolean): Promise<void> {
  for (const name of await readdir(CONTAINER_LOGS).catch(() => [])) {
    const link = join(CONTAINER_LOGS, name);
    const target = await readlink(link).catch(() => undefined);
    if (target !== undefined && resolve(CONTAINER_LOGS, target).startsWith(`${podLogsDir}/`)) await rm(link, { force: true });
  }
  if (!folderWasThere) await rmdir(CONTAINER_LOGS).catch(() => {});
}

export async function containerLogsExist(): Promise<boolean> {
  return (await lstat(CONTAINER_LOGS).catch(() => undefined)) !== undefined;
}
