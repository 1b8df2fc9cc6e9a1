/**
 * A private containerd for tests:
 *
 *     await using containerd = await startContainerd({ log: console.error });
 *
 * Own root, state, socket, bridge, subnet and cgroup; the images `registry.local/pause:1` and `registry.local/busybox:1`
 * are imported. Leaving the block removes every trace and throws when something stays.
 */
export { BUSYBOX_IMAGE, PAUSE_IMAGE } from '../../scripts/images/exampleImages.ts';
export { isCgroupV1 } from '../../scripts/node/cgroups.ts';
export { type ContainerdOptions, mayLowerOomScore, type PrivateContainerd, startContainerd } from '../../scripts/node/startContainerd.ts';
