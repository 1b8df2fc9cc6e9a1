import type { CgroupFs } from './cgroup-fs.ts';
import type { CgroupPath } from './path.ts';

const V1Limit = 'memory.memsw.limit_in_bytes';
const V2Max = 'memory.swap.max';

/** True when the kernel accounts swap per control group. `path` is an existing group; on v2 not the root, which has no limits. */
export async function isSwapAccounted(fs: Pick<CgroupFs, 'version' | 'read'>, path: CgroupPath): Promise<boolean> {
  return (await fs.read(path, fs.version === 1 ? V1Limit : V2Max)) !== undefined;
}
