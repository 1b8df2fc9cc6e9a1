import { lstat, readdir, readlink, rm, rmdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { connectRuntime } from '../../src/cri/connect.ts';
import { noRuntimeMetrics } from '../../src/cri/instrumentation.ts';
import { systemClock } from '../../src/host/clock.ts';
import { silentLogger } from '../../src/observe/log.ts';

/** Where the agent links the log of every container, whatever the folder of the logs. */
const CONTAINER_LOGS = '/var/log/containers';

/** Stops and removes every pod of a runtime, the containers at once. Returns how many there were. */
export async function removePods(endpoint: string): Promise<number> {
  const connected = await connectRuntime({ endpoint, timeoutMs: 30_000, clock: systemClock, log: silentLogger, metrics: noRuntimeMetrics });
  try {
    const sandboxes = await connected.runtime.listPodSandbox();
    let next = 0;
    const worker = async () => {
      for (let s = sandboxes[next++]; s !== undefined; s = sandboxes[next++]) {
        await connected.runtime.stopPodSandbox(s.id, { timeoutMs: 30_000 });
        await connected.runtime.removePodSandbox(s.id, { timeoutMs: 30_000 });
      }
    };
    await Promise.all([worker(), worker(), worker(), worker()]);
    const left = [...(await connected.runtime.listPodSandbox()), ...(await connected.runtime.listContainers())];
    if (left.length > 0) throw new Error(`still in the runtime after removal: ${left.map((l) => l.id).join(', ')}`);
    return sandboxes.length;
  } finally {
    connected.close();
  }
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
