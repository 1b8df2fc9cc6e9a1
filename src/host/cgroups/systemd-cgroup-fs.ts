import { limitProperties, sliceProperties } from '../systemd/slice-properties.ts';
import type { SystemdUnits } from '../systemd/units.ts';
import { CgroupError, type CgroupFs, type CgroupRefusal } from './cgroup-fs.ts';
import { type CgroupPath, isWithin, parentPath, requireCgroupPath } from './path.ts';
import type { CgroupSettings, CgroupVersion } from './settings.ts';

const SLICE = '.slice';

/**
 * Control groups that systemd owns: each is a slice, made, limited and ended through systemd, which would take back what
 * is written to the files alone. What it has no property for is written there all the same, as runc does. Paths are those of
 * the file system, such as `/kubepods.slice/kubepods-burstable.slice`.
 */
export class SystemdCgroupFs implements CgroupFs {
  readonly #files: CgroupFs;
  readonly #units: SystemdUnits;
  readonly #scope: CgroupPath;

  /** Nothing outside `scope` is changed. */
  constructor(files: CgroupFs, units: SystemdUnits, scope: CgroupPath) {
    this.#files = files;
    this.#units = units;
    this.#scope = scope;
  }

  get version(): CgroupVersion {
    return this.#files.version;
  }

  hasController(name: string): boolean {
    return this.#files.hasController(name);
  }

  exists(path: CgroupPath): Promise<boolean> {
    return this.#files.exists(path);
  }

  async create(path: CgroupPath, settings: CgroupSettings): Promise<CgroupRefusal[]> {
    const unit = this.#unitOf('create', path);
    const above = parentPath(path);
    const limits = limitProperties(this.version, settings);
    await this.#told('create', path, async () => {
      const made = await this.#units.start(unit, [...sliceProperties(unit, above === '/' ? undefined : unitName(above)), ...limits]);
      if (!made) await this.#units.setProperties(unit, limits);
    });
    return this.#files.create(path, settings);
  }

  async set(path: CgroupPath, settings: CgroupSettings): Promise<CgroupRefusal[]> {
    const unit = this.#unitOf('change', path);
    await this.#told('change', path, () => this.#units.setProperties(unit, limitProperties(this.version, settings)));
    return this.#files.set(path, settings);
  }

  children(path: CgroupPath, everywhere?: boolean): Promise<string[]> {
    return this.#files.children(path, everywhere);
  }

  read(path: CgroupPath, file: string): Promise<string | undefined> {
    return this.#files.read(path, file);
  }

  pids(path: CgroupPath): Promise<number[]> {
    return this.#files.pids(path);
  }

  kill(path: CgroupPath): Promise<void> {
    return this.#files.kill(path);
  }

  async remove(path: CgroupPath): Promise<void> {
    const unit = this.#unitOf('remove', path);
    // systemd would stop what runs there; that is the caller's to decide.
    const left = await this.#files.pids(path);
    if (left.length > 0) throw new CgroupError('Busy', 'remove', path, `pid ${left.join(', ')} still there`);
    await this.#told('remove', path, () => this.#units.stop(unit));
    await this.#files.remove(path);
  }

  #unitOf(operation: string, path: CgroupPath): string {
    requireCgroupPath(path);
    if (!isWithin(path, this.#scope)) throw new CgroupError('OutOfScope', operation, path, `it is not below ${this.#scope}`);
    const name = unitName(path);
    if (!name.endsWith(SLICE)) throw new CgroupError('OutOfScope', operation, path, 'it is no slice');
    return name;
  }

  async #told(operation: string, path: CgroupPath, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      throw new CgroupError('System', operation, path, `systemd: ${error instanceof Error ? error.message : String(error)}`, error);
    }
  }
}

/** The last part of a path: the unit's name, which holds the names of the slices above it. */
function unitName(path: CgroupPath): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
