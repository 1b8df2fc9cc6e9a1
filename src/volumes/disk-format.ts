import type { Mounter } from '../host/mounts.ts';
import type { Tools } from '../host/tools.ts';
import { VolumeError } from './volume-error.ts';

export interface DiskDeps {
  tools: Tools;
  mounter: Pick<Mounter, 'mount'>;
}

export interface DiskMount {
  device: string;
  target: string;
  /** '' is ext4. */
  fsType: string;
  options: readonly string[];
  readOnly: boolean;
}

/** Exit codes of the tools: blkid(8), fsck(8). */
const BlkidNothing = 2;
const FsckUncorrected = 4;

/**
 * Mounts a disk. One without a file system is formatted first, unless it is to be read only; another file system, or a partition
 * table, is never written over. What can be repaired without a question is.
 */
export async function formatAndMount(deps: DiskDeps, { device, target, fsType, options, readOnly }: DiskMount): Promise<void> {
  const { tools, mounter } = deps;
  const wanted = fsType === '' ? 'ext4' : fsType;
  const found = await diskFormat(tools, device);
  if (found === undefined) {
    if (readOnly) throw new VolumeError('invalid', `cannot mount unformatted disk ${device} as we are manipulating it in read-only mode`);
    const { code, stderr } = await tools.run(`mkfs.${wanted}`, [...formatOptions(wanted), device], { timeoutMs: 600_000 });
    if (code !== 0) throw new VolumeError('host', `format of disk ${device} with ${wanted} failed: exit status ${code}: ${stderr.trim()}`);
  } else if (found !== wanted) {
    throw new VolumeError('invalid', `failed to mount the volume as ${JSON.stringify(wanted)}, it already contains ${found}`);
  } else if (!readOnly) {
    await check(tools, device);
  }
  await mounter.mount({ source: device, target, fsType: wanted, options: ['defaults', ...(readOnly ? ['ro'] : []), ...options] });
}

/** The file system of a disk; undefined when there is none. A partition table counts as something. */
async function diskFormat(tools: Tools, device: string): Promise<string | undefined> {
  const { code, stdout, stderr } = await tools.run('blkid', ['-p', '-s', 'TYPE', '-s', 'PTTYPE', '-o', 'export', device]);
  if (code === BlkidNothing) return undefined;
  if (code !== 0) throw new VolumeError('host', `cannot tell what is on ${device}: blkid: exit status ${code}: ${stderr.trim()}`);
  const values = new Map(stdout.split('\n').map((line) => [line.split('=', 1)[0] ?? '', line.slice(line.indexOf('=') + 1)]));
  const [type = '', table = ''] = [values.get('TYPE'), values.get('PTTYPE')];
  if (type !== '') return type;
  return table === '' ? undefined : 'unknown data, probably partitions';
}

async function check(tools: Tools, device: string): Promise<void> {
  const { code, stdout } = await tools.run('fsck', ['-a', device], { timeoutMs: 600_000 });
  // Another failure, such as a kind without a checker, is the mount's to tell.
  if (code === FsckUncorrected) {
    throw new VolumeError('host', `'fsck' found errors on device ${device} but could not correct them: ${stdout.trim()}`);
  }
}

function formatOptions(fsType: string): string[] {
  if (fsType === 'ext3' || fsType === 'ext4') return ['-F', '-m0'];
  return fsType === 'xfs' ? ['-f'] : [];
}
