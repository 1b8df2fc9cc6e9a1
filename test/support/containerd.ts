/**
 * A private containerd for tests:
 *
 *     await using containerd = await startContainerd({ log: console.error });
 *
 * Own root, state, socket, bridge, subnet and cgroup; the images `registry.local/pause:1` and `registry.local/busybox:1`
 * are imported. Leaving the block removes every trace and throws when something stays.
 */
import type { PrivateContainerd } from '../../scripts/node/startContainerd.ts';
import { type ConnectedRuntime, connectRuntime } from '../../src/cri/connect.ts';
import { noRuntimeMetrics } from '../../src/cri/instrumentation.ts';
import { systemClock } from '../../src/host/clock.ts';
import { silentLogger } from '../../src/observe/log.ts';

export { BUSYBOX_IMAGE, PAUSE_IMAGE } from '../../scripts/images/exampleImages.ts';
export { isCgroupV1 } from '../../scripts/node/cgroups.ts';
export { type ContainerdOptions, mayLowerOomScore, type PrivateContainerd, startContainerd } from '../../scripts/node/startContainerd.ts';

/** The CRI client on a containerd, without log and metrics; `close` it. */
export function connectTo({ endpoint }: Pick<PrivateContainerd, 'endpoint'>, timeoutMs = 10_000): Promise<ConnectedRuntime> {
  return connectRuntime({ endpoint, timeoutMs, clock: systemClock, log: silentLogger, metrics: noRuntimeMetrics });
}
