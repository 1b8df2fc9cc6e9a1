import { posix } from 'node:path';
import { Quantity, QuantityError } from '../../api/quantity.ts';
import type { Pod, Volume } from '../../api/types.ts';
import type { Files } from '../../host/files.ts';
import { type MemoryVolumeDeps, memoryLimit, mountMemory } from '../memory-volume.ts';
import type { VolumeContext, VolumePlugin } from '../plugin.ts';
import { countedUsage, mountedUsage, type UsageInput, type VolumeFigures } from '../usage.ts';
import { VolumeError } from '../volume-error.ts';

export interface EmptyDirDeps extends MemoryVolumeDeps {
  files: Files;
}

const HugePages = 'HugePages';

/** A directory that lives as long as the pod, on disk, in memory or on huge pages. */
export class EmptyDir implements VolumePlugin {
  readonly name = 'kubernetes.io/empty-dir';
  readonly readOnly = false;
  readonly relabel = true;
  readonly refreshes = false;
  readonly isHostPath = false;
  readonly #deps: EmptyDirDeps;

  constructor(deps: EmptyDirDeps) {
    this.#deps = deps;
  }

  supports(volume: Volume): boolean {
    return volume.emptyDir !== undefined && volume.emptyDir !== null;
  }

  async setUp({ pod, volume, dir, fsGroup }: VolumeContext): Promise<void> {
    const { files, owned, mounter, allocatable } = this.#deps;
    const { medium = '', sizeLimit } = volume.emptyDir ?? {};
    const pageSize = medium.startsWith(HugePages) ? hugePageSize(pod, medium) : undefined;
    if (medium !== '' && medium !== 'Memory' && pageSize === undefined) {
      throw new VolumeError('invalid', `unknown storage medium ${JSON.stringify(medium)}`);
    }
    await files.mkdir(posix.dirname(dir), 0o750);
    if (medium === '') {
      // Pods write here, and may change the mode of the directory: it is set when it is made, and never again.
      await owned.makeDirectory(dir, fsGroup === undefined ? 0o777 : 0o2777, { gid: fsGroup });
    } else if (pageSize === undefined) {
      await mountMemory(this.#deps, dir, memoryLimit(pod, allocatable(), sizeLimit), fsGroup);
    } else {
      await owned.makeDirectory(dir, 0o777);
      if (await mounter.isOwnDevice(dir)) return;
      const options = [`pagesize=${pageSize}`, ...(fsGroup === undefined ? [] : [`mode=2775,gid=${fsGroup}`])];
      await mounter.mount({ source: 'nodev', target: dir, fsType: 'hugetlbfs', options });
    }
  }

  hostPath(_volume: Volume, dir: string): string {
    return dir;
  }

  usage(input: UsageInput): Promise<VolumeFigures | undefined> {
    const { medium = '' } = input.volume.emptyDir ?? {};
    return medium === '' ? countedUsage(input, input.dir) : mountedUsage(input, input.dir);
  }

  tearDown(dir: string): Promise<void> {
    return this.#deps.files.removeTree(dir);
  }
}

/** The page size of a `HugePages` or `HugePages-2Mi` medium, as bytes. Throws VolumeError when the pod asks for no such pages. */
function hugePageSize(pod: Pod, medium: string): string {
  const { initContainers = [], containers } = pod.spec;
  const prefix = 'hugepages-';
  const sizes = new Set<string>();
  for (const { resources } of [...initContainers, ...containers]) {
    for (const name of Object.keys(resources?.requests ?? resources?.limits ?? {})) {
      if (name.startsWith(prefix)) sizes.add(bytesOf(name.slice(prefix.length)));
    }
  }
  if (medium === HugePages) {
    const [only] = sizes;
    if (sizes.size !== 1 || only === undefined) {
      throw new VolumeError(
        'invalid',
        `medium "HugePages" needs containers that request huge pages of one size; they request ${sizes.size} sizes`,
      );
    }
    return only;
  }
  const wanted = bytesOf(medium.slice(HugePages.length + 1));
  if (!sizes.has(wanted))
    throw new VolumeError('invalid', `medium ${JSON.stringify(medium)}: no container requests huge pages of that size`);
  return wanted;
}

function bytesOf(text: string): string {
  try {
    return Quantity.parse(text).value().toString();
  } catch (err) {
    if (!(err instanceof QuantityError)) throw err;
    throw new VolumeError('invalid', `${JSON.stringify(text)} is no size of huge pages`, err);
  }
}
