import type { Volume } from '../api/types.ts';
import type { Files } from '../host/files.ts';
import type { Mounter, Mounts } from '../host/mounts.ts';
import type { Tools } from '../host/tools.ts';
import { GlobalMounts } from './global-mounts.ts';
import type { OwnershipDeps } from './ownership.ts';
import { has } from './source-fields.ts';
import { mountedUsage, type UsageInput, type VolumeFigures } from './usage.ts';

export interface MountedVolumeDeps extends OwnershipDeps {
  files: Files;
  mounts: Mounts;
  mounter: Mounter;
  tools: Tools;
  /** {root}, without links. */
  rootDir(): Promise<string>;
}

/** What the kinds of volume have in common that are a file system mounted at the pod's directory. */
export abstract class MountedVolume {
  abstract readonly name: string;
  readonly readOnly = false;
  readonly relabel: boolean = false;
  readonly refreshes = false;
  readonly isHostPath = false;
  readonly takesMountOptions = true;
  protected readonly deps: MountedVolumeDeps;
  readonly #field: string;
  #global: GlobalMounts | undefined;

  /** `field` of the volume holds its source. */
  constructor(field: string, deps: MountedVolumeDeps) {
    this.#field = field;
    this.deps = deps;
  }

  supports(volume: Volume): boolean {
    return has(volume, this.#field);
  }

  hostPath(_volume: Volume, dir: string): string {
    return dir;
  }

  usage(input: UsageInput): Promise<VolumeFigures | undefined> {
    return mountedUsage(input, input.dir);
  }

  /** Only the empty directory: what was mounted there is somebody's data. */
  async tearDown(dir: string): Promise<void> {
    await this.deps.files.rmdir(dir);
  }

  /** Disks of this kind that pods share. */
  protected globalMounts(): GlobalMounts {
    this.#global ??= new GlobalMounts(this.name, this.deps);
    return this.#global;
  }
}
